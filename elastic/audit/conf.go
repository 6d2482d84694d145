package audit

import (
	"io"
	"strconv"
	"strings"
)

// ParseConf reads from slurm.conf how many GPUs each node has. The error is the reader's.
func ParseConf(r io.Reader, file string) (map[string]int, error) {
	gpus := map[string]int{}
	err := eachLine(r, file, func(l Line) {
		if !strings.HasPrefix(l.Text, "NodeName=") {
			return
		}
		var names []string
		count := 0
		for _, field := range strings.Fields(l.Text) {
			key, value, _ := strings.Cut(field, "=")
			switch key {
			case "NodeName":
				names, _ = expand(value)
			case "Gres":
				count = gpusOf(value)
			}
		}
		for _, n := range names {
			gpus[n] = count
		}
	})
	delete(gpus, "DEFAULT")
	return gpus, err
}

// gpusOf counts the GPUs of "gpu:a100:4(S:0),shard:8".
func gpusOf(gres string) int {
	total := 0
	for _, part := range strings.Split(gres, ",") {
		part, _, _ = strings.Cut(part, "(")
		words := strings.Split(part, ":")
		if words[0] != "gpu" || len(words) < 2 {
			continue
		}
		if n, err := strconv.Atoi(words[len(words)-1]); err == nil && n > 0 && n < maxHosts {
			total += n
		}
	}
	return total
}
