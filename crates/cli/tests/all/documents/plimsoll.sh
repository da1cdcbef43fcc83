#!/bin/sh
# `plimsoll` as the commands of a page are run: with the command line of the page, but on the servers in the process, few
# clients and for an instant. PLIMSOLL is the command; `sample` a recording for what the page takes as given.
count=$#
previous=
duration="--duration 100ms"
warmup="--warmup 10ms"
rounds="--rounds 1"
every="--every 50ms"
# An instant has few calls on a busy machine, and phases are repeated until they have enough.
calls="--calls 20"
# By default, the files of these workloads, and those of each phase of a breakdown, have 128 MiB.
size="--size 1MiB"
set_size=
# By default, a gate whose condition stays undecided takes a hundred rounds.
budget="--budget 1s"
command=
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    case $word in
    --server-metrics | --samba-conf | --ganesha-bus | --empty-caches | --smb-keytab | --accounts | --channels | --tls-ca)
        # Of servers that are not here.
        shift
        count=$((count - 1))
        continue
        ;;
    --netns | --save | --save-size | --save-time | --port | --buffer | --snap-length)
        # Of an interface, which is a capture here.
        if [ "$command" = watch ]; then
            shift
            count=$((count - 1))
            continue
        fi
        ;;
    eth0) [ "$command" != watch ] || word=mine.pcap ;;
    --duration) duration= ;;
    --every) every= ;;
    --warmup) warmup= ;;
    --rounds) rounds= ;;
    --size) size= ;;
    --budget) budget= ;;
    random-read | stream-read) set_size="--set size=1MiB" ;;
    random-read,* | stream-read,*) word=$word,size=1MiB ;;
    size=*) word=size=1MiB set_size= ;;
    # A recorded run is repeated as it was.
    --from) [ "$command" != run ] && [ "$command" != gate ] || duration= warmup= ;;
    # A short load file.
    netbench) case $command in run | sweep) word=short-netbench.toml ;; esac ;;
    # In the time of the capture.
    14:30) word=03:05:40 ;;
    14:35) word=03:06:20 ;;
    smb://* | nfs://* | file:///mnt/*)
        word=$(echo "$word" | sed "s,^smb://[^ ]*,embedded:smb,; s,^nfs://[^ ]*,embedded:nfs,; s,^file:///mnt/share,file://$PWD,")
        ;;
    esac
    case $previous in
    --duration) word=100ms ;;
    --warmup) word=10ms ;;
    --every) word=50ms ;;
    --server-pid) word=$PPID ;;
    --levels) word=1,2 ;;
    --users | --clients | --repeat) word=2 ;;
    --rounds) word=1 ;;
    --most-rounds) word=1 ;;
    --budget) word=1s ;;
    --rate) word=50 ;;
    --start) word=10 ;;
    --most) word=20 ;;
    --calls) calls= word=20 ;;
    --size) word=1MiB ;;
    # The server in the process speaks version 3, which has no slots.
    # The one in the process has one connection per session.
    --vary) case $word in slots=* | channels=*) word=depth=1,2 ;; esac ;;
    --record) rm -rf "$word" ;;
    esac
    case $command/$previous/$word in
    gate/--record/*) ;;
    # The candidate is measured, as the baseline was.
    gate/--/run) duration="--duration 100ms" warmup="--warmup 10ms" ;;
    gate/*/good | gate/*/new | gate/*/*day | gate/*/new-[12])
        # Nothing is measured of recordings.
        duration= warmup= budget=
        [ -e "$word" ] || cp -r sample "$word"
        ;;
    compare/--* | report/--* | */-* | compare/*=*) ;;
    compare/* | report/*) [ -e "$word" ] || cp -r sample "$word" ;;
    esac
    previous=$word
    command=${command:-$word}
    set -- "$@" "$word"
done
case $1 in
run | sweep | duel | gate | breakdown | capacity)
    # shellcheck disable=SC2086 # two words each, or none
    set -- "$@" $duration $warmup $set_size
    # shellcheck disable=SC2086
    [ "$1" != duel ] || set -- "$@" $rounds
    # No load keeps this promise, and a search ends where it begins.
    [ "$1" != capacity ] || set -- "$@" --hold "mean < 1ns"
    # Each user starts in each run, however short.
    # shellcheck disable=SC2086
    [ "$1/$2" != capacity/home-folders ] || set -- "$@" $every
    # shellcheck disable=SC2086
    [ "$1" != breakdown ] || set -- "$@" $calls $size
    # shellcheck disable=SC2086
    [ "$1" != gate ] || set -- "$@" $budget
    ;;
esac
# Once a page is enough for what differs in servers that are not here alone.
if grep -qxFs -e "$*" ran; then exit; fi
echo "$*" >>ran
case $1 in
serve) timeout 0.5 "$PLIMSOLL" "$@" ;;
# The page of a capture stays open behind its end, until Ctrl-C.
# In the foreground: otherwise `timeout` signals its whole group, and two Ctrl-C end a watch at once.
watch) timeout --foreground --preserve-status --signal INT 5 "$PLIMSOLL" "$@" ;;
*) "$PLIMSOLL" "$@" ;;
esac
code=$?
case $code/$* in
# 1: a condition does not hold. 4 and 125: an instant is too short for a sure answer. 124: a server that was ended.
0/* | 4/* | 1/*--fail-if* | 1/capacity* | 125/*--exit-undecided* | 124/serve*) ;;
*)
    echo "exit code $code: plimsoll $*" >&2
    exit 1
    ;;
esac
