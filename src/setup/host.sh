# The part of `muster setup` that changes files in ~/.ssh. It runs on each host, and on the launcher
# for the launcher's own ~/.ssh/config. Sent on standard input to `sh`, so that no shell but a POSIX
# one (dash, busybox, bash) reads it and nothing stands in an argument list. All work is in
# functions that the last line calls: half a script does nothing.
#
# Set before it: verb (install, mesh, include, prepare, undo, identity), dry (1: only say),
# undo (folder for what --undo needs), folder (the folder in ~/.ssh that --undo removes), and what
# the verb needs. It prints lines "muster changed|failed|address|key ..." and, last, "muster end".

set -u
umask 077
PATH=$PATH:/usr/sbin:/sbin
LC_ALL=C # a comment in another encoding does not make a file binary
export LC_ALL
ssh=$HOME/.ssh
keys=$ssh/authorized_keys
config=$ssh/config

say() { printf 'muster %s\n' "$*"; }
fail() { say "failed $*"; exit 1; }

# change TEXT COMMAND...: one change, carried out unless dry, and told.
change() {
  change_text=$1
  shift
  [ "$dry" = 1 ] || "$@" || fail "this step failed: $change_text"
  say "changed $change_text"
}

# The x keeps trailing newlines.
content() { cat "$1" 2>/dev/null && echo x; }

# Equal content, without cmp, which small images lack. What cannot be read is equal to nothing.
same() {
  same_one=$(content "$1") && same_other=$(content "$2") && [ "$same_one" = "$same_other" ]
}

mode_of() { stat -L -c %a "$1"; }

others_may_write() {
  case $(mode_of "$1") in *[2367]? | *[2367]) return 0 ;; esac
  return 1
}

# note NAME COMMAND...: what the command prints becomes a file for undo: whole or not at all, and on
# the disk before the change that it tells of.
note() {
  note_name=$1
  shift
  "$@" >"$undo/note" && flush "$undo/note" && mv -f "$undo/note" "$undo/$note_name"
}

# remember_mode PATH NAME: mode and existence as they are before our first change, once.
remember_mode() {
  if [ -e "$undo/$2.mode" ] || [ -e "$undo/$2.absent" ]; then return 0; fi
  if [ -e "$1" ]; then note "$2.mode" mode_of "$1"; else : >"$undo/$2.absent"; fi
}

# remember PATH NAME: the content too.
remember() {
  remember_mode "$1" "$2" || return 1
  if [ -e "$undo/$2.absent" ] || [ -e "$undo/$2.old" ] || [ ! -f "$1" ]; then return 0; fi
  note "$2.old" cat "$1"
}

# edit PATH NAME COMMAND...: changes a file's content. NAME.new is what we made of it; it goes for
# good once the user has changed the file in between, and undo then takes out single lines. NAME.next
# is what we are about to make of it.
edit() {
  edit_path=$1
  edit_name=$2
  shift 2
  remember "$edit_path" "$edit_name" || return 1
  as_we_left_it "$edit_path" "$edit_name" || mark_edited "$edit_name"
  changed_meanwhile=
  "$@" || return 1
  if [ -n "$changed_meanwhile" ]; then mark_edited "$edit_name"; fi
  edit_path=
}
edit_path=
# A file whose content we have not changed yet must be as we remember it.
as_we_left_it() {
  if same "$1" "$undo/$2.next"; then # a crash came before keep_next
    mv -f "$undo/$2.next" "$undo/$2.new"
  elif [ -e "$undo/$2.new" ]; then
    same "$1" "$undo/$2.new"
  elif [ -e "$undo/$2.absent" ]; then
    [ ! -e "$1" ]
  else
    same "$1" "$undo/$2.old"
  fi
}
mark_edited() { rm -f "$undo/$1.new" "$undo/$1.next" && : >"$undo/$1.edited"; }

# announce_next PATH DRAFT, before the draft becomes PATH; keep_next PATH, afterwards.
announce_next() {
  if [ "$1" != "$edit_path" ] || [ -e "$undo/$edit_name.edited" ]; then return 0; fi
  if [ -n "$changed_meanwhile" ]; then mark_edited "$edit_name"; else note "$edit_name.next" cat "$2"; fi
}
keep_next() {
  if [ "$1" != "$edit_path" ] || [ ! -e "$undo/$edit_name.next" ]; then return 0; fi
  mv -f "$undo/$edit_name.next" "$undo/$edit_name.new"
}

# set_mode PATH NAME CLEAR SET: takes bits of the mode away and adds others, all octal. NAME.newmode
# lists the modes that we gave it.
set_mode() {
  remember_mode "$1" "$2" && set_mode_new=$(printf %o $((0$(mode_of "$1") & ~0$3 | 0$4))) || return 1
  note "$2.newmode" below "$undo/$2.newmode" "$set_mode_new" && chmod "$set_mode_new" "$1"
}

# tighten PATH NAME LABEL: what others may write, sshd (StrictModes) and ssh refuse to read.
tighten() {
  [ -e "$1" ] || return 0
  if others_may_write "$1"; then
    change "removed group and world write permission from $3" set_mode "$1" "$2" 022 0
  fi
}

owner_may_all() { case $(mode_of "$1") in *7??) return 0 ;; esac; return 1; }
owner_may_edit() { case $(mode_of "$1") in *[67]??) return 0 ;; esac; return 1; }

key_is_there() { grep -q "^$key_match" "$keys" 2>/dev/null; }

# own PATH NAME LABEL: what belongs to another user we cannot change, and sshd may not read.
own() {
  if [ ! -e "$1" ] || [ "$(stat -L -c %u "$1")" = "$(id -u)" ]; then return 0; fi
  if [ "$(id -u)" != 0 ] && key_is_there; then return 0; fi
  [ "$(id -u)" = 0 ] || fail "$3 belongs to $(stat -L -c %U "$1"); as root: chown $(id -un) $1"
  change "made root the owner of $3" set_owner "$1" "$2"
}
set_owner() {
  remember_mode "$1" "$2" && note "$2.owner" stat -L -c %u "$1" && chown 0 "$1"
}

# replace PATH COMMAND...: what the command prints becomes the content, in one step and only if the
# command succeeds. Keeps the mode, and goes through a link if PATH is one. Starts again if another
# program changes the file in the meantime. Returns 2 if the file cannot be replaced in one step.
replace() {
  replace_name=$1
  replace_path=$(readlink -f "$1") || replace_path=$1
  shift
  (: >"$replace_path.muster") || { draft_must_fail && return 2; } || return 1
  replace_result=2
  for replace_try in 1 2 3 4 5; do
    replace_before=$(content "$replace_path")
    draft "$@" || { replace_result=1 && break; }
    if [ "$(content "$replace_path")" = "$replace_before" ]; then
      announce_next "$replace_name" "$replace_path.muster" || { replace_result=1 && break; }
      if mv -f "$replace_path.muster" "$replace_path"; then keep_next "$replace_name" && return 0; fi
      break
    fi
    changed_meanwhile=1
  done
  rm -f "$replace_path.muster"
  return "$replace_result"
}
# Else the disk is full.
draft_must_fail() { [ -e "$replace_path.muster" ] || [ ! -w "${replace_path%/*}" ]; }
draft() {
  if [ -e "$replace_path" ]; then cp -p "$replace_path" "$replace_path.muster" || return 1; fi
  "$@" >"$replace_path.muster" && flush "$replace_path.muster"
}

# To the disk before anything builds on it, or a power failure could leave an empty file. An old sync
# flushes all files.
flush() { ! command -v sync >/dev/null 2>&1 || sync "$1" 2>/dev/null; }

# without FLAGS... FILE: the lines of a file that grep does not find. No line left is no failure.
without() { grep $as_text -v "$@" || [ $? = 1 ]; }
as_text=
if echo x | grep -q -a x 2>/dev/null; then as_text=-a; fi # else a NUL byte would hide all lines

if_there() { if [ -e "$1" ]; then cat "$1"; fi; }
below() { if_there "$1" && next_line "$1" "$2"; }
# A last line without a newline must not grow together with ours.
next_line() {
  if [ -s "$1" ] && [ -n "$(tail -c 1 "$1")" ]; then printf '\n%s\n' "$2"; else printf '%s\n' "$2"; fi
}
above() { printf '%s\n' "$2" && if_there "$1"; }

# add_line below|above PATH LINE NAME: undo knows of the line before it is there.
add_line() {
  note "$4.added" below "$undo/$4.added" "$3" || return 1
  replace "$2" "$1" "$2" "$3" && return 0
  [ $? = 2 ] && [ "$1" = below ] && append "$2" "$3"
}

# For a bind mount, a file with chattr +a, and a file in a folder that we may not write to. Nobody
# checks what others append at the same time.
append() {
  changed_meanwhile=1
  next_line "$1" "$2" >>"$1"
}

# The folder for undo; ~/.ssh is there afterwards.
prepare() {
  if mkdir "$ssh" 2>/dev/null; then
    mkdir -p "$undo" && : >"$undo/ssh.absent" || fail 'could not write to ~/.ssh'
    say 'changed created ~/.ssh'
    if command -v restorecon >/dev/null 2>&1; then restorecon "$ssh" 2>/dev/null; fi
  elif ! owner_may_all "$ssh"; then
    # Not by set_mode: nothing can be remembered in there yet.
    prepare_mode=$(mode_of "$ssh")
    chmod u+rwx "$ssh" && mkdir -p "$undo" || fail 'could not write to ~/.ssh'
    if [ ! -e "$undo/ssh.mode" ] && [ ! -e "$undo/ssh.absent" ]; then note ssh.mode echo "$prepare_mode"; fi
    note ssh.newmode below "$undo/ssh.newmode" "$(mode_of "$ssh")"
    say 'changed gave the user all permissions for ~/.ssh'
  fi
  mkdir -p "$undo" || fail "could not create $undo"
}

# One at a time: with a shared home folder every host of the cluster edits the same files. Fails when
# the folder is gone: then another host has undone it all.
lock() {
  lock_tries=0
  lock_misses=0 # in a row: nobody has it, and yet we do not get it
  until mkdir "$undo/lock" 2>/dev/null; do
    [ -d "$undo" ] || return 1
    lock_tries=$((lock_tries + 1))
    if [ -d "$undo/lock" ]; then lock_misses=0; else lock_misses=$((lock_misses + 1)); fi
    [ "$lock_misses" -le 10 ] || fail "could not create $undo/lock: $(mkdir "$undo/lock" 2>&1 && rmdir "$undo/lock")"
    [ "$lock_tries" -le 300 ] || fail "$undo/lock is held by another setup; remove it if there is none"
    if [ -n "$(find "$undo/lock" -prune -mmin +2 2>/dev/null)" ]; then rmdir "$undo/lock"; fi
    sleep 0.1 2>/dev/null || sleep 1
  done
  trap 'rmdir "$undo/lock" 2>/dev/null' EXIT
  trap 'exit 1' HUP INT TERM
}

# carry_out FUNCTION: tried dry first, so that where nothing is to do nothing is touched.
carry_out() {
  carry_out_plan=$(dry=1 && "$1") || { printf '%s\n' "$carry_out_plan"; exit 1; }
  if [ -z "$carry_out_plan" ]; then return 0; fi
  if [ "$dry" = 1 ]; then
    printf '%s\n' "$carry_out_plan"
    return 0
  fi
  prepare
  # An undo on another host may take the folder away in between.
  lock || { prepare && lock; } || fail "$undo keeps disappearing; perhaps an undo is running"
  "$1"
}

# Verb install. Needs key_line ("ssh-ed25519 AAAA... comment") and key_match ("ssh-ed25519 AAAA...").
do_install() {
  tighten "$HOME" home 'the home directory'
  if [ -d "$ssh" ]; then
    own "$ssh" ssh '~/.ssh'
    owner_may_all "$ssh" || say 'changed gave the user all permissions for ~/.ssh' # prepare does it
    tighten "$ssh" ssh '~/.ssh'
  else
    say 'changed created ~/.ssh'
  fi
  own "$keys" authorized_keys '~/.ssh/authorized_keys'
  if [ -e "$keys" ] && ! owner_may_edit "$keys"; then
    change 'gave the user read and write permission for ~/.ssh/authorized_keys' \
      set_mode "$keys" authorized_keys 0 600
  fi
  tighten "$keys" authorized_keys '~/.ssh/authorized_keys'
  if ! key_is_there; then
    change "added muster's key to ~/.ssh/authorized_keys" \
      edit "$keys" authorized_keys add_line below "$keys" "$key_line" authorized_keys
  fi
}

# Verb include. Needs include_line. Only at the top does it hold for every host: below a Host line
# it would be conditional.
do_include() {
  tighten "$config" config '~/.ssh/config'
  if [ -e "$config" ] &&
    sed -e '/^[[:space:]]*[Hh][Oo][Ss][Tt][[:space:]=]/q' -e '/^[[:space:]]*[Mm][Aa][Tt][Cc][Hh][[:space:]=]/q' \
      "$config" | grep -qxF -- "$include_line"; then
    return 0
  fi
  change "put '$include_line' at the top of ~/.ssh/config" \
    edit "$config" config add_line above "$config" "$include_line" config
}

write_text() {
  # A here-document: a private key must not stand in an argument list, even if printf were a program.
  cat >"$1.muster" <<END_OF_TEXT && flush "$1.muster" && mv -f "$1.muster" "$1"
$2
END_OF_TEXT
}

# put PATH TEXT LABEL: a file of our own.
put() {
  if [ "$(cat "$1" 2>/dev/null)" != "$2" ]; then change "wrote $3" write_text "$1" "$2"; fi
}

# put_named FOLDER TEXT: lines "name content", each to the file FOLDER/name; named_count says how many
# are new. No process a line: there may be thousands.
put_named() {
  named_count=0
  while read -r named_name named_line; do
    if [ -z "$named_name" ]; then continue; fi
    named_old=
    if [ -e "$mesh/$1/$named_name" ]; then read -r named_old <"$mesh/$1/$named_name"; fi
    if [ "$named_old" = "$named_line" ]; then continue; fi
    if [ "$dry" != 1 ]; then printf '%s\n' "$named_line" >"$mesh/$1/$named_name" || return 1; fi
    named_count=$((named_count + 1))
  done <<END_OF_LINES
$2
END_OF_LINES
}

all_of() { (cd "$mesh/$1" 2>/dev/null && cat ./*); }

mesh_config() {
  printf '# Written by `muster setup --host-to-host`; `muster setup --undo` takes it away.\nHost'
  (cd "$mesh/known_hosts.d" 2>/dev/null && for name in *; do printf ' %s' "$name"; done)
  printf '\n%s\n' "$mesh_settings"
  # An ssh before 8.5 does not know it, and would read nothing at all. (IgnoreUnknown here would
  # switch off the user's own.)
  if ssh -F /dev/null -G -o KnownHostsCommand=none x >/dev/null 2>&1; then echo '  KnownHostsCommand none'; fi
}

# The hosts' lines in authorized_keys: of those that we added, the outdated ones go.
set_host_lines() {
  all_of authorized.d >"$mesh/authorized" || return 1
  if_there "$undo/authorized_keys.added" | without -xF -f "$mesh/authorized" | grep '^from=' >"$mesh/outdated"
  for set_file in "$keys" "$undo/authorized_keys.added"; do
    if [ -s "$mesh/outdated" ] && [ -e "$set_file" ]; then
      replace "$set_file" without -xF -f "$mesh/outdated" "$set_file" || return 1
    fi
  done
  set_missing=$(missing_host_lines)
  [ -z "$set_missing" ] || add_line below "$keys" "$set_missing" authorized_keys
}
missing_host_lines() {
  if [ -s "$keys" ]; then all_of authorized.d | without -xF -f "$keys"; else all_of authorized.d; fi
}

# Verb mesh: this host reaches the others, and they it. Needs mesh_keys (lines "name
# authorized_keys-line"), mesh_pins (lines "name known_hosts-line"), mesh_settings, include_line. What
# earlier runs brought for other hosts stays.
do_mesh() {
  mesh=$ssh/muster-mesh
  if [ ! -d "$mesh/known_hosts.d" ] || [ ! -d "$mesh/authorized.d" ]; then
    change 'created ~/.ssh/muster-mesh' mkdir -p "$mesh/known_hosts.d" "$mesh/authorized.d"
  fi
  put_named known_hosts.d "$mesh_pins" || fail 'could not write the host keys'
  if [ "$named_count" != 0 ]; then say "changed pinned $named_count names in ~/.ssh/muster-mesh/known_hosts.d"; fi
  put_named authorized.d "$mesh_keys" || fail "could not write the hosts' public keys"
  if [ "$named_count" != 0 ] || [ -n "$(missing_host_lines)" ]; then
    change "added the hosts' keys to ~/.ssh/authorized_keys" edit "$keys" authorized_keys set_host_lines
  fi
  put "$mesh/known_hosts" "$(all_of known_hosts.d)" '~/.ssh/muster-mesh/known_hosts'
  put "$mesh/config" "$(mesh_config)" '~/.ssh/muster-mesh/config'
  do_include
}

# undo_content PATH NAME LABEL: the old content where the file is what we made of it, else only our
# lines go.
undo_content() {
  if [ "$dry" != 1 ]; then rm -f "$(readlink -f "$1").muster" 2>/dev/null; fi # of a script that was killed
  if as_we_made_it "$1" "$2"; then
    if [ -e "$undo/$2.absent" ]; then
      change "removed $3" rm -f "$1"
    else
      change "restored $3" replace "$1" old_content "$1" "$2"
    fi
  elif [ -e "$1" ] && [ -e "$undo/$2.added" ] && grep -qxF -f "$undo/$2.added" "$1"; then
    change "removed muster's lines from $3, which was changed after the setup" take_out "$1" "$undo/$2.added"
    if [ -e "$undo/$2.absent" ] && [ "$dry" != 1 ] && [ ! -s "$1" ]; then rm -f "$1"; fi
  fi
}
# Fails if the user has changed the file since undo looked at it.
old_content() { as_we_made_it "$1" "$2" && cat "$undo/$2.old"; }
as_we_made_it() { same "$1" "$undo/$2.new" || same "$1" "$undo/$2.next"; }
take_out() { replace "$1" without -xF -f "$2" "$1"; }

# mode_before PATH NAME: the mode to go back to; nothing where we did not set it or the user did since.
mode_before() {
  if [ ! -e "$1" ] || [ ! -e "$undo/$2.newmode" ] || [ ! -e "$undo/$2.mode" ]; then return 0; fi
  if grep -qx -- "$(mode_of "$1")" "$undo/$2.newmode"; then cat "$undo/$2.mode"; fi
}
undo_mode() {
  undo_mode_text=$(mode_before "$1" "$2")
  if [ -n "$undo_mode_text" ]; then change "restored the mode of $3" chmod "$undo_mode_text" "$1"; fi
}
undo_owner() {
  if [ ! -e "$1" ] || [ ! -e "$undo/$2.owner" ]; then return 0; fi
  change "restored the owner of $3" chown "$(cat "$undo/$2.owner")" "$1"
}

# Rename first: a process that waits for the lock must not get it in a half-removed directory, and
# after a crash it must be clear what is left to undo.
discard() {
  mv "$1" "$1.removed-$$" || return 1
  if [ ! -e "$undo" ]; then trap - EXIT; fi # a lock there is not ours any more
  rm -rf "$1.removed-$$"
}
clear_discarded() { [ "$dry" = 1 ] || rm -rf "$undo".removed-[0-9]* "$ssh/$folder".removed-[0-9]* 2>/dev/null; }

# Lines that another launcher added. The host-to-host key's is nobody's in particular.
others_lines() { grep -vF -- "$our_keys" "$undo/authorized_keys.added" 2>/dev/null | grep -v '^from='; }

our_lines() { grep -F -- "$our_keys" "$undo/authorized_keys.added" 2>/dev/null; }
drop_lines() {
  replace "$keys" without -xF -- "$1" "$keys" &&
    replace "$undo/authorized_keys.added" without -xF -- "$1" "$undo/authorized_keys.added"
}

# Verb undo. Needs our_keys ("ssh-ed25519 AAAA...", one a line; empty: all that were added). Modes
# last: a file must be writable to be restored.
do_undo() {
  clear_discarded
  if [ ! -d "$undo" ]; then
    [ "$dry" = 1 ] || rmdir "$ssh/$folder" 2>/dev/null # a crash came before its first file
    return 0
  fi
  if [ "$dry" != 1 ]; then lock || return 0; fi
  if [ -n "$our_keys" ] && [ -n "$(others_lines)" ]; then
    if [ -n "$(our_lines)" ]; then
      change 'removed the key of this machine from ~/.ssh/authorized_keys; another machine uses the rest' \
        edit "$keys" authorized_keys drop_lines "$(our_lines)"
    fi
    return 0
  fi
  undo_content "$config" config '~/.ssh/config'
  undo_content "$keys" authorized_keys '~/.ssh/authorized_keys'
  undo_mode "$config" config '~/.ssh/config'
  undo_mode "$keys" authorized_keys '~/.ssh/authorized_keys'
  undo_owner "$keys" authorized_keys '~/.ssh/authorized_keys'
  undo_owner "$ssh" ssh '~/.ssh'
  undo_mode "$HOME" home 'the home directory'
  undo_ssh_mode=$(mode_before "$ssh" ssh)
  # Now, while a crash leaves us the files for undo; later where we could not remove them then.
  case $undo_ssh_mode in *7??) undo_mode "$ssh" ssh '~/.ssh' && undo_ssh_mode= ;; esac
  undo_made=0
  if [ -e "$undo/ssh.absent" ]; then undo_made=1; fi
  if [ -e "$ssh/$folder" ]; then change "removed ~/.ssh/$folder" discard "$ssh/$folder"; fi
  if [ -e "$undo" ]; then change "removed the files for undo" discard "$undo"; fi
  if [ -n "$undo_ssh_mode" ]; then change 'restored the mode of ~/.ssh' chmod "$undo_ssh_mode" "$ssh"; fi
  if [ "$undo_made" = 1 ] && [ "$dry" != 1 ] && rmdir "$ssh" 2>/dev/null; then say 'changed removed ~/.ssh'; fi
}

# Verb prepare, on the launcher. ssh reads no configuration that others may write, so that comes
# before any login.
do_prepare() {
  if [ "$dry" != 1 ]; then prepare; elif [ ! -d "$ssh" ]; then say 'changed created ~/.ssh'; fi
  tighten "$config" config '~/.ssh/config'
}

# Verb identity: a key of this host's own, whose private half stays here, and the addresses of
# interfaces that other hosts can see. (id_ed25519 was a key that all hosts had.)
do_identity() {
  mesh=$ssh/muster-mesh
  if [ ! -e "$mesh/own_ed25519" ]; then change 'created the key ~/.ssh/muster-mesh/own_ed25519' make_own_key; fi
}
make_own_key() {
  mkdir -p "$mesh" && rm -f "$mesh/new" "$mesh/new.pub" "$mesh/id_ed25519" || return 1
  ssh-keygen -q -t ed25519 -N '' -C muster-host-to-host -f "$mesh/new" && rm -f "$mesh/new.pub" &&
    flush "$mesh/new" && mv -f "$mesh/new" "$mesh/own_ed25519"
}
tell_identity() {
  say "key $(ssh-keygen -y -P '' -f "$ssh/muster-mesh/own_ed25519")"
  if command -v ip >/dev/null 2>&1; then
    ip -o addr show scope global | sed -n 's/.* inet6\{0,1\} \([0-9a-fA-F.:]*\).*/muster address \1/p'
  else
    for address in $(hostname -I); do say "address $address"; done
  fi
}

run_verb() {
  printf '\n'  # start-up files may have printed half a line
  case $verb in
    install) carry_out do_install ;;
    include) carry_out do_include ;;
    mesh) carry_out do_mesh ;;
    prepare) do_prepare ;;
    undo) do_undo ;;
    identity) carry_out do_identity && tell_identity ;;
    *) fail "no verb '$verb'" ;;
  esac
  say end
}

run_verb </dev/null
