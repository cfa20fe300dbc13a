// The scripts pass the words of a line to `muster complete` over a pipe. All users can see the
// arguments of a process, and a value after -x may be secret.
#include "cli/completion.hpp"

namespace muster::cli {
namespace {

constexpr std::string_view kBash =
    R"SCRIPT(# bash completion for muster; muster completion bash prints it.

_muster() {
  local words=() word rest=$COMP_LINE i
  # Bash splits words at = and : too; a word that follows no space belongs to the one before.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $i -eq 0 || -z $rest || $rest == [[:space:]]* ]]; then words+=("$word"); else words[-1]+=$word; fi
    rest=${rest#"${rest%%[![:space:]]*}"}
    rest=${rest#"$word"}
  done
  local current=${words[-1]} part=${COMP_WORDS[COMP_CWORD]} way
  [[ $part == [=:]* ]] && part=
  local answers=()
  {
    read -r way
    mapfile -t answers
  } < <(printf '%s\0' "${words[@]:1}" | "${words[0]/#\~/$HOME}" complete 2>/dev/null)
  answers=("${answers[@]%%$'\t'*}")
  COMPREPLY=("${answers[@]#"${current%"$part"}"}")
  case $way in
    list) compopt -o nospace ;;
    files) compopt -o default ;;
    folders) compopt -o dirnames ;;
    program)
      compopt -o filenames
      mapfile -t COMPREPLY < <([[ -z $part ]] || compgen -c -- "$part"; compgen -f -- "$part")
      ;;
  esac
}

complete -F _muster muster
)SCRIPT";

constexpr std::string_view kZsh = R"SCRIPT(#compdef muster
# zsh completion for muster; muster completion zsh prints it.

_muster() {
  local way
  local -a answers values shown
  answers=("${(@f)$(printf '%s\0' "${(@Q)words[2,CURRENT]}" | ${words[1]/#\~/$HOME} complete 2>/dev/null)}")
  way=$answers[1]
  shift answers
  values=("${(@)answers%%$'\t'*}")
  shown=("${(@)answers/$'\t'/  -- }")
  case $way in
    list) compadd -S '' -d shown -a values ;;
    words) compadd -l -d shown -a values ;;
    files|folders|program)
      (($#values)) && compadd -l -d shown -a values
      [[ $PREFIX == -*=* ]] && compset -P 1 '*='
      case $way in
        files) _files ;;
        folders) _files -/ ;;
        program) _alternative 'commands:command:_command_names -e' 'files:file:_files' ;;
      esac
      ;;
    *) return 1 ;;
  esac
}

if [[ $funcstack[1] == _muster ]]; then _muster "$@"; else compdef _muster muster; fi
)SCRIPT";

constexpr std::string_view kFish =
    R"SCRIPT(# fish completion for muster; muster completion fish prints it.

function __muster_complete
    set -l words (commandline -opc)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -e words[1]
    set -l current (commandline -ct)
    set -l answers (printf '%s\0' $words "$current" | $program complete 2>/dev/null)
    set -l way "$answers[1]"
    set -e answers[1]
    printf '%s\n' $answers
    set -l kept (string match -r '^-[^=]*=' -- "$current")
    set -l value (string replace -r '^-[^=]*=' '' -- "$current")
    switch $way
        case files
            printf "$kept%s\n" (__fish_complete_path "$value")
        case folders
            printf "$kept%s\n" (__fish_complete_directories "$value")
        case program
            printf '%s\n' (__fish_complete_path "$value") (complete -C "$value")
    end
end

complete -c muster -f -k -a '(__muster_complete)'
)SCRIPT";

}  // namespace

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return {};
}

}  // namespace muster::cli
