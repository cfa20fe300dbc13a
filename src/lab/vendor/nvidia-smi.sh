# The lab's nvidia-smi answers from the tables above, in the words of the real one. `muster lab`
# puts them before this text, which is the same for all machines.

if [ "$hangs" = yes ]; then
  trap '' TERM HUP INT
  exec sleep infinity
fi

help_query() {
  printf 'List of valid properties to query for the switch "--query-%s":\n\n' "$1"
  "$2" | awk -F '\t' '{ gsub(/\|/, "\" or \"", $1); printf "\"%s\"\n\n", $1 }'
}

# query TABLE FIELDS: one line per column of the table.
query() {
  "$1" | awk -F '\t' -v wanted="$2" -v format="$format" -v ids="$ids" '
    { rows++
      count = split($1, names, "|")
      for (i = 1; i <= count; i++) row[names[i]] = rows
      title[rows] = names[1]; unit[rows] = $2
      columns = NF - 2
      for (i = 1; i <= columns; i++) value[rows, i] = $(i + 2) }
    END {
      count = split(wanted, fields, ",")
      for (i = 1; i <= count; i++) {
        gsub(/^ +| +$/, "", fields[i])
        if (fields[i] in row) continue
        printf "Field \"%s\" is not a valid field to query.\n\n", fields[i]
        exit 2
      }
      units = format !~ /nounits/
      line = ""
      for (i = 1; i <= count; i++) {
        r = row[fields[i]]
        line = line (i > 1 ? ", " : "") title[r] (units && unit[r] != "" ? " [" unit[r] "]" : "")
      }
      if (format !~ /noheader/) print line
      for (column = 1; column <= columns; column++) {
        if (ids != "" && index("," ids ",", "," (column - 1) ",") == 0) continue
        line = ""
        for (i = 1; i <= count; i++) {
          r = row[fields[i]]
          text = value[r, column]
          if (units && unit[r] != "" && text !~ /^\[/) text = text " " unit[r]
          line = line (i > 1 ? ", " : "") text
        }
        print line
      }
    }'
}

action=summary
fields=
format=
ids=
while [ $# -gt 0 ]; do
  case $1 in
    --query-gpu=*) action=gpu fields=${1#*=} ;;
    --query-remapped-rows=*) action=gpu fields=${1#*=} ;;
    --query-compute-apps=*) action=apps fields=${1#*=} ;;
    --help-query-gpu) action=help-gpu ;;
    --help-query-compute-apps) action=help-apps ;;
    --format=*) format=${1#*=} ;;
    --id=*) ids=${1#*=} ;;
    -i | --id) shift && ids=$1 ;;
    -L | --list-gpus) action=list ;;
    --version) action=version ;;
    nvlink | topo) action=$1 ;;
    -s | --status | -m | --matrix) ;;
    *)
      echo "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help."
      echo
      exit 2
      ;;
  esac
  shift
done

case $action in
  help-gpu) help_query gpu gpu_table && exit ;;
  help-apps) help_query compute-apps apps_table && exit ;;
esac

if [ -n "$refusal" ]; then
  echo "$refusal"
  exit "$refusal_code"
fi

case $action in
  gpu) query gpu_table "$fields" ;;
  apps) ids= && query apps_table "$fields" ;;
  list) list ;;
  nvlink) links ;;
  topo) topology ;;
  version) summary | sed -n 's/^| NVIDIA-SMI \([^ ]*\) .*/NVIDIA-SMI version  : \1/p' ;;
  summary) summary ;;
esac
