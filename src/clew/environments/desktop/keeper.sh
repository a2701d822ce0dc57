# Holds the processes of one desktop session. Commands come on stdin, reports go to stdout; when
# stdin ends (the session was closed, or the program that opened it died) everything ends with it.
# LOGS is the folder of the logs. ROOM, where there are no namespaces, is the session's own folder.

# run NAME COMMAND...: in the background, its output in a log; fd 3 is for what it reports itself.
run() {
    name=$1
    shift
    (
        "$@" </dev/null 3>&1 >>"$LOGS/$name" 2>&1
        echo "exit $name $?"
    ) &
}

# apart NAME COMMAND...: the same, for commands that have nothing to report.
apart() {
    name=$1
    shift
    (
        "$@" </dev/null >>"$LOGS/$name" 2>&1
        echo "exit $name $?"
    ) &
}

# Without a PID namespace, what still carries the session's mark is found by it, `setsid` or not.
sweep() {
    trap '' TERM HUP INT
    # Its status says nothing: some file always vanishes or is another user's.
    while left=$(grep -lsz "^CLEW_ROOM=$ROOM\$" /proc/[0-9]*/environ) || [ -n "$left" ]; do
        for file in $left; do
            pid=${file#/proc/}
            pid=${pid%/environ}
            [ "$pid" = $$ ] || kill -9 "$pid" 2>/dev/null
        done
    done
    rm -rf -- "$ROOM"
}

exec 2>>"$LOGS/keeper"
echo "keeper $$"
while IFS= read -r line; do
    eval "$line"
done
[ -z "$ROOM" ] || sweep
