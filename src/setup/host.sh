# The part of `muster setup` that changes files in ~/.ssh. It runs on each host, and on the launcher
# for the launcher's own ~/.ssh/config. It is passed to `sh` on standard input. So a POSIX shell
# (dash, busybox, bash) runs it, whatever the user's login shell is, and no argument list contains
# it. All work is in functions that the last line calls, so an incomplete script does nothing.
#
# These variables must be set before it: verb (install, mesh, include, prepare, undo, identity), dry
# (1: only report), undo (folder for what --undo needs), folder (the folder in ~/.ssh that --undo
# removes), and those that the verb needs. It prints lines "muster changed|failed|address|key ..."
# and finally "muster end".

set -u
umask 077
PATH=$PATH:/usr/sbin:/sbin
LC_ALL=C # otherwise a comment in another encoding would make grep treat a file as binary
export LC_ALL
ssh=$HOME/.ssh
keys=$ssh/authorized_keys
config=$ssh/config

say() { printf 'muster %s\n' "$*"; }
fail() { say "failed $*"; exit 1; }

# change TEXT COMMAND...: carries out one change, unless dry is set, and reports it.
change() {
  change_text=$1
  shift
  [ "$dry" = 1 ] || "$@" || fail "this step failed: $change_text"
  say "changed $change_text"
}

# Prints the file, then an x. Without the x, command substitution would remove trailing newlines.
content() { cat "$1" 2>/dev/null && echo x; }

# Compares contents without cmp, which small images lack. A file that cannot be read equals nothing.
same() {
  same_one=$(content "$1") && same_other=$(content "$2") && [ "$same_one" = "$same_other" ]
}

mode_of() { stat -L -c %a "$1"; }

others_may_write() {
  case $(mode_of "$1") in *[2367]? | *[2367]) return 0 ;; esac
  return 1
}

# note NAME COMMAND...: stores the command's output as a file for undo, completely or not at all.
# This file must be on the disk before the change that it describes is made.
note() {
  note_name=$1
  shift
  "$@" >"$undo/note" && flush "$undo/note" && mv -f "$undo/note" "$undo/$note_name"
}

# remember_mode PATH NAME: stores the mode, or that the file does not exist, before our first
# change.
remember_mode() {
  if [ -e "$undo/$2.mode" ] || [ -e "$undo/$2.absent" ]; then return 0; fi
  if [ -e "$1" ]; then note "$2.mode" mode_of "$1"; else : >"$undo/$2.absent"; fi
}

# remember PATH NAME: stores the file's content, in addition to its mode.
remember() {
  remember_mode "$1" "$2" || return 1
  if [ -e "$undo/$2.absent" ] || [ -e "$undo/$2.old" ] || [ ! -f "$1" ]; then return 0; fi
  note "$2.old" cat "$1"
}

# edit PATH NAME COMMAND...: changes a file's content. NAME.new stores the content that we wrote. If
# the user has changed the file since, NAME.new is removed for good, and undo then removes only our
# lines. NAME.next is the content that we are about to write.
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
# A file that we have not changed yet must still have the content that we remembered.
as_we_left_it() {
  if same "$1" "$undo/$2.next"; then # an earlier run crashed before keep_next
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

# Call announce_next PATH DRAFT before the draft replaces PATH, and keep_next PATH afterwards.
announce_next() {
  if [ "$1" != "$edit_path" ] || [ -e "$undo/$edit_name.edited" ]; then return 0; fi
  if [ -n "$changed_meanwhile" ]; then mark_edited "$edit_name"; else note "$edit_name.next" cat "$2"; fi
}
keep_next() {
  if [ "$1" != "$edit_path" ] || [ ! -e "$undo/$edit_name.next" ]; then return 0; fi
  mv -f "$undo/$edit_name.next" "$undo/$edit_name.new"
}

# set_mode PATH NAME CLEAR SET: clears and sets bits of the mode, all octal. NAME.newmode lists the
# modes that we set.
set_mode() {
  remember_mode "$1" "$2" && set_mode_new=$(printf %o $((0$(mode_of "$1") & ~0$3 | 0$4))) || return 1
  note "$2.newmode" below "$undo/$2.newmode" "$set_mode_new" && chmod "$set_mode_new" "$1"
}

# tighten PATH NAME LABEL: takes write permission away from group and others, because sshd
# (StrictModes) and ssh refuse to read files that others can write.
tighten() {
  [ -e "$1" ] || return 0
  if others_may_write "$1"; then
    change "removed group and world write permission from $3" set_mode "$1" "$2" 022 0
  fi
}

owner_may_all() { case $(mode_of "$1") in *7??) return 0 ;; esac; return 1; }
owner_may_edit() { case $(mode_of "$1") in *[67]??) return 0 ;; esac; return 1; }

key_is_there() { grep -q "^$key_match" "$keys" 2>/dev/null; }

# own PATH NAME LABEL: handles a file of another user, which sshd may refuse to read. root becomes
# its owner. Anybody else cannot change it, so this fails, unless our key is in authorized_keys
# already.
own() {
  if [ ! -e "$1" ] || [ "$(stat -L -c %u "$1")" = "$(id -u)" ]; then return 0; fi
  if [ "$(id -u)" != 0 ] && key_is_there; then return 0; fi
  [ "$(id -u)" = 0 ] || fail "$3 belongs to $(stat -L -c %U "$1"); as root: chown $(id -un) $1"
  change "made root the owner of $3" set_owner "$1" "$2"
}
set_owner() {
  remember_mode "$1" "$2" && note "$2.owner" stat -L -c %u "$1" && chown 0 "$1"
}

# replace PATH COMMAND...: replaces the content by the command's output, in one step and only if the
# command succeeds. Keeps the mode, and follows a symbolic link. Starts again if another program
# changes the file in the meantime. Returns 2 if the file cannot be replaced in one step.
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
# Succeeds if it is impossible to create a draft here. Otherwise, creating it failed because the
# disk is full.
draft_must_fail() { [ -e "$replace_path.muster" ] || [ ! -w "${replace_path%/*}" ]; }
draft() {
  if [ -e "$replace_path" ]; then cp -p "$replace_path" "$replace_path.muster" || return 1; fi
  "$@" >"$replace_path.muster" && flush "$replace_path.muster"
}

# Flushes the file to the disk before anything depends on it, because a power failure could
# otherwise leave it empty. An old sync ignores the argument and flushes all files.
flush() { ! command -v sync >/dev/null 2>&1 || sync "$1" 2>/dev/null; }

# without FLAGS... FILE: prints the lines that grep does not find. Printing no line is not a
# failure.
without() { grep $as_text -v "$@" || [ $? = 1 ]; }
as_text=
if echo x | grep -q -a x 2>/dev/null; then as_text=-a; fi # without -a, a NUL byte would hide all lines

if_there() { if [ -e "$1" ]; then cat "$1"; fi; }
below() { if_there "$1" && next_line "$1" "$2"; }
# Prints a line for the end of a file. If the file's last line lacks a newline, ours must not be
# joined to it.
next_line() {
  if [ -s "$1" ] && [ -n "$(tail -c 1 "$1")" ]; then printf '\n%s\n' "$2"; else printf '%s\n' "$2"; fi
}
above() { printf '%s\n' "$2" && if_there "$1"; }

# add_line below|above PATH LINE NAME: adds a line at the end or at the top of the file. Records the
# line for undo first.
add_line() {
  note "$4.added" below "$undo/$4.added" "$3" || return 1
  replace "$2" "$1" "$2" "$3" && return 0
  [ $? = 2 ] && [ "$1" = below ] && append "$2" "$3"
}

# append PATH LINE: for a file that cannot be replaced: a bind mount, a file with chattr +a, or a
# file in a read-only folder. Does not detect changes that other programs make at the same time.
append() {
  changed_meanwhile=1
  next_line "$1" "$2" >>"$1"
}

# Creates the folder for undo, and ~/.ssh if it is missing.
prepare() {
  if mkdir "$ssh" 2>/dev/null; then
    mkdir -p "$undo" && : >"$undo/ssh.absent" || fail 'could not write to ~/.ssh'
    say 'changed created ~/.ssh'
    if command -v restorecon >/dev/null 2>&1; then restorecon "$ssh" 2>/dev/null; fi
  elif ! owner_may_all "$ssh"; then
    # set_mode cannot be used, because nothing can be stored in the folder yet.
    prepare_mode=$(mode_of "$ssh")
    chmod u+rwx "$ssh" && mkdir -p "$undo" || fail 'could not write to ~/.ssh'
    if [ ! -e "$undo/ssh.mode" ] && [ ! -e "$undo/ssh.absent" ]; then note ssh.mode echo "$prepare_mode"; fi
    note ssh.newmode below "$undo/ssh.newmode" "$(mode_of "$ssh")"
    say 'changed gave the user all permissions for ~/.ssh'
  fi
  mkdir -p "$undo" || fail "could not create $undo"
}

# If the home folder is shared, all hosts of the cluster edit the same files, so only one may do so
# at a time. Fails if the folder for undo no longer exists, because then another host has undone
# everything.
lock() {
  lock_tries=0
  # how many tries in a row failed although nobody had the lock
  lock_misses=0
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

# carry_out FUNCTION: calls the function as a dry run first, so that nothing is touched if nothing
# has to change.
carry_out() {
  carry_out_plan=$(dry=1 && "$1") || { printf '%s\n' "$carry_out_plan"; exit 1; }
  if [ -z "$carry_out_plan" ]; then return 0; fi
  if [ "$dry" = 1 ]; then
    printf '%s\n' "$carry_out_plan"
    return 0
  fi
  prepare
  # An undo on another host may remove the folder between prepare and lock, so try both a second
  # time.
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

# Verb include. Needs include_line. The line must be at the top of the file, because below a Host
# line it would apply to some hosts only.
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
  # A here-document keeps the private key out of argument lists, even where printf is a program.
  cat >"$1.muster" <<END_OF_TEXT && flush "$1.muster" && mv -f "$1.muster" "$1"
$2
END_OF_TEXT
}

# put PATH TEXT LABEL: writes a file of our own.
put() {
  if [ "$(cat "$1" 2>/dev/null)" != "$2" ]; then change "wrote $3" write_text "$1" "$2"; fi
}

# put_named FOLDER TEXT: reads lines "name content" and writes each to the file FOLDER/name.
# named_count is the number of new files. Starts no process per line, because there may be
# thousands.
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
  # ssh before 8.5 does not know this option and would reject the whole file. (IgnoreUnknown here
  # would override the user's own.)
  if ssh -F /dev/null -G -o KnownHostsCommand=none x >/dev/null 2>&1; then echo '  KnownHostsCommand none'; fi
}

# Updates the hosts' lines in authorized_keys. Outdated lines that we added are removed.
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

# Verb mesh: lets this host reach the others, and the others reach it. Needs mesh_keys (lines "name
# authorized_keys-line"), mesh_pins (lines "name known_hosts-line"), mesh_settings and include_line.
# What earlier runs added for other hosts stays.
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

# undo_content PATH NAME LABEL: restores the old content if the file is as we left it; otherwise
# removes only our lines.
undo_content() {
  if [ "$dry" != 1 ]; then rm -f "$(readlink -f "$1").muster" 2>/dev/null; fi # left by a script that was killed
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
# old_content PATH NAME: prints the content to restore. Fails if the user has changed the file since
# undo looked at it.
old_content() { as_we_made_it "$1" "$2" && cat "$undo/$2.old"; }
as_we_made_it() { same "$1" "$undo/$2.new" || same "$1" "$undo/$2.next"; }
take_out() { replace "$1" without -xF -f "$2" "$1"; }

# mode_before PATH NAME: prints the mode to restore. Prints nothing if we did not set the mode, or
# if the user has changed it since.
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

# discard PATH: renames a directory and then removes it. Without the rename, a process that waits
# for the lock could get it in a half-removed directory, and after a crash it would not be clear
# what remains to be undone.
discard() {
  mv "$1" "$1.removed-$$" || return 1
  if [ ! -e "$undo" ]; then trap - EXIT; fi # a lock there is no longer ours
  rm -rf "$1.removed-$$"
}
clear_discarded() { [ "$dry" = 1 ] || rm -rf "$undo".removed-[0-9]* "$ssh/$folder".removed-[0-9]* 2>/dev/null; }

# Prints the lines that other launchers added, without those for host-to-host keys, which belong to
# no launcher in particular.
others_lines() { grep -vF -- "$our_keys" "$undo/authorized_keys.added" 2>/dev/null | grep -v '^from='; }

our_lines() { grep -F -- "$our_keys" "$undo/authorized_keys.added" 2>/dev/null; }
drop_lines() {
  replace "$keys" without -xF -- "$1" "$keys" &&
    replace "$undo/authorized_keys.added" without -xF -- "$1" "$undo/authorized_keys.added"
}

# Verb undo. Needs our_keys: the launcher's keys as "ssh-ed25519 AAAA...", one per line. If it is
# empty, everything that any launcher added is removed. Modes come last, because a file must be
# writable to be restored.
do_undo() {
  clear_discarded
  if [ ! -d "$undo" ]; then
    [ "$dry" = 1 ] || rmdir "$ssh/$folder" 2>/dev/null # setup crashed before it wrote its first file
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
  # Restore the mode now, while the files for undo would survive a crash. If the restored mode would
  # prevent us from removing them, restore it later.
  case $undo_ssh_mode in *7??) undo_mode "$ssh" ssh '~/.ssh' && undo_ssh_mode= ;; esac
  undo_made=0
  if [ -e "$undo/ssh.absent" ]; then undo_made=1; fi
  if [ -e "$ssh/$folder" ]; then change "removed ~/.ssh/$folder" discard "$ssh/$folder"; fi
  if [ -e "$undo" ]; then change "removed the files for undo" discard "$undo"; fi
  if [ -n "$undo_ssh_mode" ]; then change 'restored the mode of ~/.ssh' chmod "$undo_ssh_mode" "$ssh"; fi
  if [ "$undo_made" = 1 ] && [ "$dry" != 1 ] && rmdir "$ssh" 2>/dev/null; then say 'changed removed ~/.ssh'; fi
}

# Verb prepare, on the launcher. Must run before any login, because ssh reads no configuration that
# others may write.
do_prepare() {
  if [ "$dry" != 1 ]; then prepare; elif [ ! -d "$ssh" ]; then say 'changed created ~/.ssh'; fi
  tighten "$config" config '~/.ssh/config'
}

# Verb identity: creates this host's own key, whose private half stays here, and prints the
# addresses of interfaces that other hosts can see. (make_own_key also removes id_ed25519: in
# earlier versions, all hosts shared this key.)
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
  printf '\n'  # start-up files may have printed an incomplete line
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
