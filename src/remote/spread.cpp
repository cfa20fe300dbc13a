#include "remote/spread.hpp"

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "remote/diagnose.hpp"
#include "remote/leg.hpp"
#include "remote/process_session.hpp"
#include "remote/spread_queue.hpp"
#include "sys/ignored_signal.hpp"

namespace muster::remote {
namespace {

constexpr std::chrono::milliseconds kLookEvery{200};
constexpr std::chrono::seconds kRemovalTakes{20};  // at most

// Everything that happens to one host, step by step. One local process at a time.
class Move {
 public:
  using Then = std::function<void(SessionEnd)>;

  Move(sys::Loop& loop, SpreadMove plan, std::string host)
      : plan_(plan), host_(std::move(host)), loop_(loop), started_(loop.now()) {}

  // `open` starts the step. `then` gets its end; the standard output is in ended->out. A step whose
  // input stays open ends early when the session does.
  void step(const std::function<std::shared_ptr<Session>(SessionPlan)>& open, std::string input,
            bool keep_open, Then then) {
    out_.clear();
    then_ = std::move(then);
    session_ = open({.host = host_,
                     .command = {},
                     .on_output = [this](std::string_view piece) { take(piece); },
                     .on_end = [this](SessionEnd end) { end_step(std::move(end)); }});
    session_->write(std::move(input));
    if (!keep_open) session_->close_input();
  }

  // Ends the current step, as timed out.
  void give_up() {
    gave_up_ = true;
    if (session_) session_->abandon();
  }

  // Lets one more step follow, even if this move has taken too long already.
  void allow(std::chrono::seconds more) {
    gave_up_ = false;
    end_ = loop_.now() + more;
  }
  [[nodiscard]] bool is_late(SpreadQueue::Duration limit) const {
    return loop_.now() > end_.value_or(started_ + limit);
  }

  [[nodiscard]] const SpreadMove& plan() const { return plan_; }
  [[nodiscard]] const std::string& host() const { return host_; }
  [[nodiscard]] bool gave_up() const { return gave_up_; }

  LegSecret secret = {};
  std::optional<std::string> digest;  // of the host's copy, once it is known

 private:
  void take(std::string_view piece) {
    out_.append(piece);
    if (out_.size() > 2 * sys::kTailBytes) out_.erase(0, out_.size() - sys::kTailBytes);
  }

  void end_step(SessionEnd end) {
    if (end.ended) {
      end.ended->out = std::move(out_);
      end.ended->timed_out = gave_up_;
    }
    // Local variables, because `then` may start the next step or destroy this move.
    const auto done = std::move(session_);
    const Then then = std::move(then_);
    then(std::move(end));
  }

  SpreadMove plan_;
  std::string host_;
  sys::Loop& loop_;
  SpreadQueue::Time started_;
  std::optional<SpreadQueue::Time> end_;
  std::shared_ptr<Session> session_;
  std::string out_;
  Then then_;
  bool gave_up_ = false;
};

bool succeeded(const SessionEnd& end) {
  return end.ended && end.ended->ok();
}

class Work {
 public:
  Work(const Spread& what, Transport& transport, std::span<const SpreadHost> hosts)
      : what_(what),
        transport_(transport),
        hosts_(hosts),
        queue_(hosts.size(), what.fan_out, what.files.bytes, loop_.now()) {}

  Result<Spreading> run() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      if (sys::is_ignored(signal)) continue;
      loop_.on_signal(signal, [this, signal] {
        result_.signal = signal;
        end_all();
      });
    }
    hash_here();
    tell();
    timer_ = loop_.timer({}, kLookEvery, [this] { look(); });
    loop_.run();
    loop_.drop_signals();
    if (error_) return unexpected(*std::move(error_));
    return std::move(result_);
  }

 private:
  // This machine's files are hashed while the first hosts receive them.
  void hash_here() {
    // Not the user's own shell, whose start-up files may print something.
    std::vector<std::string> words = {"/bin/sh", "-c", digest_line(what_.options.from)};
    hash_ = std::make_shared<Move>(loop_, SpreadMove{}, "");
    const auto open = [&](SessionPlan plan) {
      return start_session(
          loop_, std::move(plan),
          SessionProcess{.argv = std::move(words),
                         .env = {"LC_ALL=C"},
                         .on_started = [this](auto process) { hashing_ = std::move(process); }});
    };
    hash_->step(open, *what_.files.paths, false, [this](SessionEnd end) {
      // Files that it could not read are in no hash, and the hosts' copies would differ.
      if (succeeded(end) && end.ended->err.empty()) {
        result_.digest = parse_digest(end.ended->out);
      }
      if (ended_) return;
      if (result_.digest.empty()) return fail_here(std::move(end));
      for (const auto& move : std::map(moves_)) {
        if (move.second->digest) compare(*move.second);
      }
    });
  }

  void fail_here(SessionEnd end) {
    const bool is_missing = end.ended && end.ended->code == kMissingProgram;
    error_ = Error{
        .what = "cannot hash the files on this machine",
        .where = {.file = what_.options.from},
        .hint = is_missing ? "muster sync --spread needs the programs xargs, sed and sha256sum"
                           : "run the command again when nothing writes to the directory; if it "
                             "fails again, check the disk"};
    error_->cause = std::make_shared<const Error>(
        end.ended ? Error{.what = first_words(end.ended->err)} : std::move(end.ended).error());
    end_all();
  }

  void end_all() {
    ended_ = true;
    // With its children, which read the files.
    if (hashing_ && hashing_->running()) (void)::kill(-hashing_->pid(), SIGKILL);
    // Those with a digest only wait for ours.
    std::erase_if(moves_, [](const auto& move) { return move.second->digest.has_value(); });
    for (const auto& [index, move] : moves_) move->give_up();
  }

  // Called often: ends moves that take too long, and starts those that may start now.
  void look() {
    const auto limit = std::min<SpreadQueue::Duration>(queue_.limit(), what_.timeout);
    for (const auto& [index, move] : moves_) {
      if (move->is_late(limit) && !move->digest && !move->gave_up()) move->give_up();
    }
    advance();
  }

  void advance() {
    while (const auto plan = ended_ ? std::nullopt : queue_.next(loop_.now())) {
      auto move = std::make_shared<Move>(loop_, *plan, hosts_[plan->host].name);
      moves_[plan->host] = move;
      if (plan->source) {
        put_token(*move);
      } else {
        send_from_here(*move);
      }
    }
    // Without the timer, the loop ends with the last step.
    if ((ended_ || queue_.over()) && moves_.empty()) timer_ = nullptr;
  }

  [[nodiscard]] std::shared_ptr<Session> local(SessionPlan plan, std::vector<std::string> argv) {
    return start_session(loop_, std::move(plan),
                         SessionProcess{.argv = std::move(argv), .env = {"LC_ALL=C"}});
  }

  // A step on a host, which need not be the one that gets the files.
  void on_host(Move& move, const std::string& host, const std::string& command, std::string input,
               bool keep_open, Move::Then then) {
    move.step(
        [&](SessionPlan plan) {
          plan.host = host;
          plan.command = command;
          return transport_.open(loop_, std::move(plan));
        },
        std::move(input), keep_open, std::move(then));
  }

  [[nodiscard]] SyncOptions options(const std::string& sender, const SpreadHost& receiver) const {
    SyncOptions options = what_.options;
    options.exact = compares_exactly(sender) && compares_exactly(receiver.rsync);
    options.resume = options.give_up_stalled = true;
    options.remove = options.checksum = false;  // the ordinary copy does this
    return options;
  }

  void send_from_here(Move& move) {
    const SyncOptions to_host = options(what_.rsync_here, hosts_[move.plan().host]);
    auto words = rsync_words(to_host, transport_.shell(), move.host());
    move.step([&](SessionPlan plan) { return local(std::move(plan), std::move(words)); }, {}, false,
              [this, &move](SessionEnd end) { received(move, end); });
  }

  void put_token(Move& move) {
    move.secret = make_leg_secret();
    on_host(move, move.host(), put_token_line(move.secret), move.secret.token + "\n", false,
            [this, &move](SessionEnd end) {
              if (succeeded(end) && !ended_) return send_between(move);
              result_.failures.push_back({move.host(), token_failure(end)});
              fail(move);
            });
  }

  static std::string token_failure(const SessionEnd& end) {
    const std::string why = !end.ended             ? end.ended.error().what
                            : end.ended->timed_out ? "it did not answer in time"
                                                   : first_words(end.ended->err);
    return "the receiving host could not be prepared: " + why;
  }

  void send_between(Move& move) {
    const SpreadHost& source = hosts_[*move.plan().source];
    SyncOptions leg = options(source.rsync, hosts_[move.plan().host]);
    leg.paths = what_.files.paths;
    on_host(move, source.name, leg_line(leg, transport_.shell(), move.host(), move.secret),
            leg_input(leg, move.secret), true, [this, &move](SessionEnd end) {
              queue_.sent(move.plan().host);
              if (succeeded(end)) return received(move, end);
              result_.failures.push_back({move.host(), leg_failure(end)});
              fail(move);
            });
  }

  // Removes what a move between hosts may have left.
  void fail(Move& move) {
    if (!move.plan().source) return end_move(move, false);
    move.allow(kRemovalTakes);
    on_host(move, move.host(), clean_up_line(move.secret, true), {}, false,
            [this, &move](SessionEnd end) {
              if (!succeeded(end)) {
                result_.not_removed.push_back({move.host(), receiver_folder(move.secret)});
              }
              end_move(move, false);
            });
  }

  void received(Move& move, const SessionEnd& end) {
    if (!succeeded(end) || ended_) return fail(move);
    Spreading::Copy& copy = result_.copies[move.host()];
    copy.changes += parse_stats(end.ended->out).value_or(Changes{});
    copy.from_here = !move.plan().source;
    std::string command = digest_line(what_.options.to);
    if (move.plan().source) command = clean_up_line(move.secret, false) + "; " + command;
    on_host(move, move.host(), command, *what_.files.paths, false,
            [this, &move](SessionEnd hashed) {
              if (!succeeded(hashed) || ended_) return fail(move);
              move.digest = parse_digest(hashed.ended->out);
              if (!result_.digest.empty()) compare(move);
            });
  }

  void compare(Move& move) {
    const bool is_same = move.digest == result_.digest;
    result_.copies[move.host()].verified = is_same;
    if (is_same) {
      ++verified_;
    } else if (move.plan().source) {
      result_.failures.push_back(
          {move.host(), "the copy that arrived differs from the files here"});
    }
    end_move(move, is_same);
  }

  void end_move(Move& move, bool verified) {
    const std::size_t index = move.plan().host;
    queue_.ended(index, verified, loop_.now());
    const auto keep = moves_.extract(index);  // until this function returns
    tell();
    advance();
  }

  void tell() const {
    if (!what_.on_progress) return;
    what_.on_progress("spreading the files among the hosts", verified_, hosts_.size());
  }

  const Spread& what_;
  Transport& transport_;
  std::span<const SpreadHost> hosts_;
  sys::UvLoop loop_;
  SpreadQueue queue_;
  std::map<std::size_t, std::shared_ptr<Move>> moves_;  // by host
  std::shared_ptr<Move> hash_;
  std::shared_ptr<sys::Process> hashing_;
  std::shared_ptr<sys::Timer> timer_;
  Spreading result_;
  std::optional<Error> error_;
  std::size_t verified_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<Spreading> spread(const Spread& what, Transport& transport,
                         std::span<const SpreadHost> hosts) {
  return Work(what, transport, hosts).run();
}

}  // namespace muster::remote
