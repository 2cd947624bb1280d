# Ends the commands of a pi that died without ending them. It reads what pi says of them:
#   begin MARK        a command is about to start; what it starts has MARK among those of PI_CALL in its environment
#   group MARK ID     it runs, as the first of the process group ID
#   end MARK          it has ended, and what it left behind on purpose stays
# When pi is gone, however it went, there is nothing more to read: whatever has not ended is killed.
trap '' HUP INT QUIT TERM TSTP
marks=' '
while read -r word mark group; do
    case $word in
    begin) marks="$marks$mark " ;;
    group) eval "group_$mark=\$group" ;;
    end)
        marks="${marks%% "$mark" *} ${marks#* "$mark" }"
        unset "group_$mark"
        ;;
    esac
done
for mark in $marks; do
    eval "group=\${group_$mark:-}"
    if [ -n "$group" ]; then kill -s KILL -- "-$group"; fi
done
# Those that left their group are known by their mark, where the kernel shows it. It does not while a process becomes
# another program, so that one look is not enough.
set -- $marks
[ $# -gt 0 ] || exit 0
for round in 1 2 3 4 5 6 7 8 9 10; do
    for mark in $marks; do
        for environment in $(grep -lzxE "PI_CALL=(.*[.])?$mark([.].*)?" /proc/[0-9]*/environ); do
            process=${environment#/proc/}
            kill -s KILL "${process%/environ}"
        done
    done
    sleep 0.1 || sleep 1
done
