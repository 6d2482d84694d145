#!/bin/bash
#SBATCH --job-name=shell
#SBATCH --time=60
#SLUICE --steps=600
# An elastic program in shell, complete: it counts. The protocol that it speaks is
# checkpoint/PROTOCOL.md; any language can do the same with files alone.
set -eu

line() { # line EVENT: add to the progress log
	printf '{"time": %s, "restarts": %s, "event": "%s", "done": %s, "step": %s, "gpus": %s}\n' \
		"$(date +%s)" "$SLUICE_RESTARTS" "$1" "$count" "$count" "${SLUICE_GPUS:-1}" >>"$SLUICE_JOB_DIR/progress.jsonl"
}

request() { # the id of the request that stands, or nothing
	sed -n 's/.*[^\\]"request": *"\([A-Za-z0-9][A-Za-z0-9._:-]*\)".*/\1/p' "$SLUICE_REQUEST" 2>/dev/null | head -n 1
}

onward() { # whether training is to go on after the save
	grep -q '[^\\]"continue": *true' "$SLUICE_REQUEST" 2>/dev/null
}

save() { # save REQUEST: write a checkpoint; the manifest comes last, as a whole
	mkdir -p -m 0700 "$SLUICE_CHECKPOINTS"
	local last name folder
	last=$(ls "$SLUICE_CHECKPOINTS" | grep -xE '[0-9]{8}' | sort | tail -n 1 || true)
	name=$(printf %08d $((10#${last:-0} + 1)))
	folder=$SLUICE_CHECKPOINTS/$name
	mkdir -m 0700 "$folder"
	echo "$count" >"$folder/count"
	sync "$folder/count"
	printf '{"version": 1, "job": %s, "token": "%s", "restarts": %s, "sequence": %d, "step": %s, "epoch": 0,
 "created": "%s", "gpus": %s, "request": "%s",
 "files": [{"path": "count", "size": %s, "sha256": "%s"}]}\n' \
		"$SLUICE_JOB_ID" "$(basename "$SLUICE_JOB_DIR")" "$SLUICE_RESTARTS" "$((10#$name))" "$count" \
		"$(date -u +%Y-%m-%dT%H:%M:%SZ)" "${SLUICE_GPUS:-1}" "$1" \
		"$(stat -c %s "$folder/count")" "$(sha256sum <"$folder/count" | cut -d' ' -f1)" >"$folder/.manifest.new"
	sync "$folder/.manifest.new"
	mv "$folder/.manifest.new" "$folder/manifest.json"
	sync "$folder" "$SLUICE_CHECKPOINTS"
}

count=0
if [ -n "${SLUICE_RESUME:-}" ]; then
	count=$(cat "$SLUICE_RESUME/count")
	line resumed
fi
line hello
while [ "$count" -lt "${STEPS:-600}" ]; do
	sleep "${PAUSE:-1}" # the work
	count=$((count + 1))
	line progress
	asked=$(request)
	if [ -n "$asked" ]; then
		if [ "$asked" = "${answered:-}" ]; then continue; fi
		answered=$asked
		pause=yes
		if onward; then pause=no; fi
		save "$asked"
		while [ $pause = yes ] && [ "$(request)" = "$asked" ]; do sleep 0.2; done # to be stopped, or to train on
	fi
done
line finished
echo "counted to $count"
