#include "run/crew.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "remote/diagnose.hpp"
#include "sys/file.hpp"

namespace muster::run {
namespace {

constexpr std::chrono::minutes kPushDeadline{5};
constexpr std::string_view kLooking = "checking the hosts";
constexpr std::string_view kPushing = "copying muster to the hosts";

Error no_answer(const std::string& host, std::chrono::milliseconds deadline,
                const std::string& trial) {
  return {.code = ErrorCode::kUnreachable,
          .what = fmt::format("no answer within {:.0f} s",
                              std::chrono::duration<double>(deadline).count()),
          .where = {.host = host},
          .hint = "are the host and its network up?" + (trial.empty() ? "" : " try: " + trial)};
}

Error too_slow(const std::string& host, std::chrono::milliseconds deadline) {
  return {.what = fmt::format(
              "muster reached the host, but it did not report its facts within {:.0f} s",
              std::chrono::duration<double>(deadline).count()),
          .where = {.host = host},
          .hint =
              "perhaps the activation waits for something, a file system hangs, or the network "
              "loses large packets (MTU); to give the host more time: --answer-within SECONDS"};
}

Error misread(const std::string& host, const std::string& why) {
  return {.what = "muster reached the host, but cannot use what it reports: " + why,
          .where = {.host = host},
          .hint =
              "the host does not run the program that muster copied to it, or changes what "
              "that program prints; look at its login shell and its start-up files"};
}

Error unreadable(const std::string& host, const std::string& trial) {
  return {.what =
              "cannot read what the host sent: a line is too long, or the length of a message "
              "is wrong",
          .where = {.host = host},
          .hint = "does the host's login shell print something by itself?" +
                  (trial.empty() ? "" : " try: " + trial)};
}

// The Error for a login shell that ended without printing anything. If muster had been started and
// had failed, it would have printed why.
Error shell_ended(const std::string& host, const sys::Ended& ended) {
  return {.what = fmt::format("the login shell of the host ended with {} before it started muster",
                              sys::to_text(ended)),
          .where = {.host = host},
          .hint = fmt::format("look for exit, return or set -e in the shell's start-up files "
                              "there, such as ~/.bashrc; to try: ssh {} true; echo $?",
                              host)};
}

Error agent_ended(const std::string& host, const sys::Ended& ended) {
  std::string said = printable_lines(ended.err);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return {.what = fmt::format("muster's process on the host ended with {}{}{}", sys::to_text(ended),
                              said.empty() ? "" : ": ", said),
          .where = {.host = host},
          .hint = {}};
}

// Returns what ssh or the host's shell printed about a push, to explain it if it failed.
std::string push_failure(const Result<sys::Ended>& ended) {
  if (!ended) return ended.error().what;
  if (ended->timed_out)
    return fmt::format("the copy did not finish within {} minutes", kPushDeadline.count());
  std::string said = remote::first_words(ended->err);
  // Remove the shell's name from messages such as "/bin/sh: 5: cannot create /tmp/x: Read-only file
  // system".
  if (const std::size_t at = said.find(": "); said.starts_with("/bin/sh") && at != said.npos) {
    said.erase(0, at + 2);
  }
  return said;
}

std::string push_hint(const std::string& host, const Build& build, const std::string& why) {
  if (why.find("fork") != std::string::npos) {
    return fmt::format(
        "your user may start no more processes on the host; its limit: ssh {} ulimit -u (set in "
        "/etc/security/limits.conf), and the processes: ssh {} 'ps -L -u $(id -u)'",
        host, host);
  }
  return fmt::format(
      "the binary, which is built for {}, needs {} MB of space and a file system without noexec",
      build.machine, build.binary ? build.binary->bytes / 1'000'000 + 1 : 0);
}

Error not_pushed(const std::string& host, const std::string& base, const Build& build,
                 const std::string& why) {
  return {.what = fmt::format("cannot copy muster's binary to {}, or it does not run there{}{}",
                              base, why.empty() ? "" : ": ", why),
          .where = {.host = host},
          .hint = push_hint(host, build, why)};
}

}  // namespace

struct Crew::Member {
  std::string host;
  State state = State::kWaiting;
  facts::Survey survey = {};
  std::shared_ptr<remote::Session> session = {};
  std::shared_ptr<remote::Session> rejoining = {};
  agent::Inbox inbox = {};  // received from the session
  int generation = 0;       // number of the session; messages from earlier ones are ignored
  int generations = 0;
  std::shared_ptr<sys::Timer> deadline = {};
  std::string machine = {};       // its architecture, as the host reported it
  const Build* build = nullptr;   // the build for the host; null until one was needed
  std::string push_failure = {};  // why the binary could not be pushed; empty if unknown
  bool reached = false;           // whether its agent has answered
  std::string misread = {};       // what is wrong with a report of its agent; empty if nothing
  std::chrono::steady_clock::time_point heard = {};
  double asked_s = 0;  // Unix time on this machine when the host was asked for its clock
  // Whether the host was asked for its clock alone, after its facts.
  bool asked_exactly = false;
};

Crew::Crew(sys::Loop& loop, remote::Transport& transport, std::vector<std::string> hosts,
           CrewOptions options)
    : loop_(loop), transport_(transport), options_(std::move(options)) {
  for (std::string& host : hosts) {
    auto member = std::make_unique<Member>();
    member->host = std::move(host);
    members_.push_back(std::move(member));
  }
}

Crew::~Crew() = default;

std::vector<facts::Survey> Crew::survey(const std::function<void()>& meanwhile) {
  meanwhile_ = meanwhile;
  std::vector<facts::Survey> surveys;
  if (options_.builds.empty()) options_.builds = find_builds();
  folder_ = folder_of(options_.builds);
  for (const std::string& base : push_bases(::getuid())) {
    base_ = base;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i]->state != State::kFailed) all.push_back(i);
    }
    survey_at(base, all);
    const bool refused = std::any_of(members_.begin(), members_.end(), [](const auto& member) {
      return member->state == State::kRefused;
    });
    // If one host cannot use this folder, all hosts try the next one, because the path must be the
    // same on all of them.
    if (!refused) break;
  }
  options_.on_progress = nullptr;
  surveys.reserve(members_.size());
  for (const auto& member : members_) surveys.push_back(std::move(member->survey));
  return surveys;
}

void Crew::survey_at(const std::string& base, std::vector<std::size_t> members) {
  for (int round = 0; round < 2 && !members.empty(); ++round) {
    waiting_.assign(members.rbegin(), members.rend());
    pending_ = members.size();
    asked_ = members.size();
    tell_progress(kLooking, 0, asked_);
    for (std::size_t i = 0; i < options_.fan_out; ++i) open_next();
    if (meanwhile_) std::exchange(meanwhile_, nullptr)();
    if (pending_ > 0) loop_.run();
    std::erase_if(members, [this](std::size_t i) { return members_[i]->state != State::kMissing; });
    if (round == 0) {
      members = choose_builds(members);
      push(members);
    }
  }
  for (const std::size_t i : members) {  // still missing although it was pushed
    Member& member = *members_[i];
    member.state = State::kRefused;
    member.survey = {
        .host = member.host,
        .facts = unexpected(not_pushed(member.host, base, *member.build, member.push_failure))};
  }
}

void Crew::open_next() {
  if (waiting_.empty()) return;
  const std::size_t index = waiting_.back();
  waiting_.pop_back();
  open(index);
}

void Crew::open(std::size_t index) {
  Member& member = *members_[index];
  member.state = State::kAsked;
  member.inbox = {};
  member.reached = false;
  member.misread.clear();
  member.asked_exactly = false;
  member.asked_s = loop_.unix_time();
  member.survey = {.host = member.host,
                   .facts = unexpected(no_answer(member.host, options_.deadline,
                                                 transport_.silence(member.host).trial))};
  member.deadline = loop_.timer(options_.deadline, {}, [this, index] { give_up(index); });
  if (member.session) member.session->abandon();  // it was started with another base
  member.session = start_session(index, false);
  member.generation = member.generations;
  agent::Order hello{.kind = agent::Order::Kind::kHello,
                     .run_id = options_.run_id,
                     .request = options_.request,
                     .earlier = options_.earlier};
  hello.request->host = member.host;
  send(index, hello);
}

void Crew::take(std::size_t index, std::string_view chunk) {
  Member& member = *members_[index];
  member.inbox.add(chunk);
  while (const auto message = member.inbox.next()) take_message(index, *message);
  if (!member.inbox.broken()) return;
  if (member.session) member.session->abandon();
  if (member.state != State::kAsked) return;
  member.survey.facts = unexpected(unreadable(member.host, transport_.silence(member.host).trial));
  settle(member, State::kFailed);
}

void Crew::take_message(std::size_t index, const agent::Message& message) {
  Member& member = *members_[index];
  member.heard = loop_.now();
  auto report = agent::parse_report(message);
  if (!report) {  // most likely a greeting of the login shell
    if (agent::is_report(message)) member.misread = report.error().what;
    return;
  }
  if (on_report_) return on_report_(index, *report);
  if (member.state != State::kAsked) return;
  if (!std::exchange(member.reached, true)) {
    member.deadline = loop_.timer(options_.for_facts, {}, [this, index] { give_up(index); });
  }
  if (report->kind == agent::Report::Kind::kFacts) {
    member.survey.facts = std::move(report->facts);
    if (!options_.compare_clocks) return settle(member, State::kSurveyed);
    member.asked_s = loop_.unix_time();
    member.asked_exactly = true;
    send(index, {.kind = agent::Order::Kind::kBeat});
  } else if (report->kind == agent::Report::Kind::kBeat) {
    // The host sends its first beat unasked. All that is known about when it did so is that the
    // session was already open.
    const double now = loop_.unix_time();
    member.survey.clock_doubt_s = (now - member.asked_s) / 2;
    member.survey.clock_ahead_s = report->clock_s - (now + member.asked_s) / 2;
    if (member.asked_exactly) settle(member, State::kSurveyed);
  } else if (report->kind == agent::Report::Kind::kFailed) {
    member.survey.facts =
        unexpected(Error{.what = report->text, .where = {.host = member.host}, .hint = {}});
    settle(member, State::kFailed);
  }
}

// Ends the survey of a member.
void Crew::settle(Member& member, State state) {
  member.state = state;
  member.deadline = nullptr;
  open_next();
  --pending_;
  tell_progress(kLooking, asked_ - pending_, asked_);
  if (pending_ == 0) loop_.stop();
}

void Crew::tell_progress(std::string_view what, std::size_t done, std::size_t of_all) const {
  if (options_.on_progress) options_.on_progress(what, done, of_all);
}

void Crew::end_of_session(std::size_t index, remote::SessionEnd end) {
  Member& member = *members_[index];
  member.session = nullptr;
  if (member.state == State::kAsked) return settle(member, end_of_survey(member, end));
  if (member.state == State::kSurveyed && on_lost_) {
    on_lost_(index, end.ended ? sys::to_text(*end.ended) : end.ended.error().what);
  }
}

// Interprets the end of a session whose host has not reported its facts.
Crew::State Crew::end_of_survey(Member& member, const remote::SessionEnd& end) const {
  if (!end.ended) {
    member.survey.facts = unexpected(end.ended.error());
    member.survey.failure_id = end.failure_id;
    return State::kFailed;
  }
  if (end.ended->code == kNotThere) {
    member.machine = told_machine(end.ended->err);
    return State::kMissing;
  }
  if (end.ended->code == kNotOurs) {
    member.survey.facts = unexpected(
        Error{.what = fmt::format("{} belongs to another user, or others can write to it", base_),
              .where = {.host = member.host},
              .hint = fmt::format("ls -ld {} shows the owner and the mode; ask the owner, or an "
                                  "administrator of the host, to remove it",
                                  base_)});
    return State::kRefused;
  }
  if (!end.ended->timed_out && end.ended->signal == 0) {
    const bool is_silent = !member.reached && end.ended->err.empty();
    member.survey.facts = unexpected(is_silent ? shell_ended(member.host, *end.ended)
                                               : agent_ended(member.host, *end.ended));
  }
  return State::kFailed;
}

// Ends the survey of a member that did not answer in time. Does not wait for its session to end,
// which may take long on a dead connection.
void Crew::give_up(std::size_t index) {
  Member& member = *members_[index];
  if (member.reached) {
    member.survey.failure_id = "facts-not-gathered";
    member.survey.facts =
        unexpected(member.misread.empty() ? too_slow(member.host, options_.for_facts)
                                          : misread(member.host, member.misread));
  } else {
    member.survey.failure_id = transport_.silence(member.host).failure_id;
  }
  member.session->abandon();
  member.session = nullptr;
  member.generation = 0;  // ignore whatever it still says
  settle(member, State::kFailed);
}

// Returns the members for whose architecture there is a build. The survey of the others has failed.
std::vector<std::size_t> Crew::choose_builds(const std::vector<std::size_t>& members) {
  std::vector<std::size_t> served;
  for (const std::size_t i : members) {
    Member& member = *members_[i];
    const auto build = build_for(options_.builds, member.host, member.machine);
    if (build) {
      member.build = *build;
      served.push_back(i);
    } else {
      member.state = State::kFailed;
      member.survey.facts = unexpected(build.error());
    }
  }
  return served;
}

void Crew::push(const std::vector<std::size_t>& members) {
  if (members.empty()) return;
  std::map<const Build*, std::shared_ptr<const std::string>> inputs;
  std::size_t done = 0;
  tell_progress(kPushing, done, members.size());
  std::vector<remote::Task> tasks;
  for (const std::size_t i : members) {
    const Build& build = *members_[i]->build;
    auto& input = inputs[&build];
    if (!input) {
      auto bytes = sys::read_file(build.path, build.binary->bytes);
      if (!bytes) return;
      input = std::make_shared<const std::string>(*std::move(bytes));
    }
    tasks.push_back({.host = members_[i]->host,
                     .command = push_line(base_, folder_, *build.binary),
                     .input = input,
                     .on_end = [&] { tell_progress(kPushing, ++done, members.size()); }});
  }
  const std::vector<remote::Outcome> outcomes = transport_.run(tasks, kPushDeadline);
  for (std::size_t i = 0; i < members.size(); ++i) {
    members_[members[i]]->push_failure = push_failure(outcomes[i].ended);
  }
}

std::string Crew::binary() const {
  return binary_path(base_, folder_);
}

const std::string& Crew::base() const {
  return base_;
}

void Crew::listen(OnReport on_report, OnLost on_lost) {
  on_report_ = std::move(on_report);
  on_lost_ = std::move(on_lost);
}

void Crew::send(std::size_t member, const agent::Order& order) {
  if (member < members_.size() && members_[member]->session)
    members_[member]->session->write(to_line(order));
}

void Crew::send_all(const agent::Order& order) {
  const std::string line = to_line(order);
  for (const auto& member : members_) {
    if (member->session) member->session->write(line);
  }
}

bool Crew::connected(std::size_t member) const {
  return members_[member]->session != nullptr;
}

std::chrono::steady_clock::time_point Crew::heard(std::size_t member) const {
  return members_[member]->heard;
}

std::shared_ptr<remote::Session> Crew::start_session(std::size_t index, bool fresh) {
  Member& member = *members_[index];
  const int generation = ++member.generations;
  const auto on_output = [this, index, generation](std::string_view chunk) {
    adopt(index, generation);
    if (members_[index]->generation == generation) take(index, chunk);
  };
  const auto on_end = [this, index, generation](remote::SessionEnd end) {
    Member& mine = *members_[index];
    if (mine.generation == generation) return end_of_session(index, std::move(end));
    if (mine.generations == generation) mine.rejoining = nullptr;  // the new session never answered
  };
  return transport_.open(loop_, {.host = member.host,
                                 .command = agent_line(base_, folder_),
                                 .on_output = on_output,
                                 .on_end = on_end,
                                 .fresh = fresh});
}

// When a session that was opened to rejoin sends its first message, it replaces the member's old
// session.
void Crew::adopt(std::size_t index, int generation) {
  Member& member = *members_[index];
  if (!member.rejoining || member.generations != generation) return;
  if (member.session) member.session->abandon();
  member.session = std::move(member.rejoining);
  member.generation = generation;
  member.inbox = {};
}

void Crew::rejoin(std::size_t index, double orphan_after_s, std::vector<agent::Taken> taken) {
  Member& member = *members_[index];
  if (member.rejoining) return;
  member.rejoining = start_session(index, true);
  member.rejoining->write(
      to_line(agent::Order{.kind = agent::Order::Kind::kHello, .run_id = options_.run_id}) +
      to_line(agent::Order{.kind = agent::Order::Kind::kBegin,
                           .orphan_after_s = orphan_after_s,
                           .taken = std::move(taken)}));
}

void Crew::stop_rejoining() {
  for (const auto& member : members_) {
    if (member->rejoining) std::exchange(member->rejoining, nullptr)->abandon();
  }
}

void Crew::hear_all() {
  for (const auto& member : members_) member->heard = loop_.now();
}

int Crew::session_number(std::size_t member) const {
  return members_[member]->generation;
}

std::vector<int> Crew::descriptors() const {
  std::vector<int> numbers;
  for (const auto& member : members_) {
    if (!member->session || member->session->input_descriptor() < 0) continue;
    numbers.push_back(member->session->input_descriptor());
    numbers.push_back(member->session->output_descriptor());
  }
  return numbers;
}

}  // namespace muster::run
