package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	planner "github.com/sluice-hpc/sluice/nodes"
)

// Limits of a simulated cluster.
const (
	maxSimNodes = 1_000_000
	maxSimGPUs  = 10_000_000
)

// parseCluster reads "16x4", or several kinds as "4x8,2x4", into free nodes named
// n1, n2 and so on.
func parseCluster(text string) (inventory []planner.Node, gpus int, err error) {
	inventory, gpus, times, err := parseTypes(text)
	if err == nil && times != nil {
		err = fmt.Errorf("--cluster %q: jobs have the same speed on every type here; leave out =TIMES", text)
	}
	return inventory, gpus, err
}

// parseTypes is parseCluster for clusters of several types of GPU, "4x8:a100,4x4:t4=0.5",
// where a factor multiplies the speed of jobs on a type; times is nil if no type has one.
func parseTypes(text string) (inventory []planner.Node, gpus int, times map[string]float64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		size, kind, typed := strings.Cut(strings.TrimSpace(part), ":")
		kind, by, timed := strings.Cut(kind, "=")
		if typed && !validType(kind) {
			return nil, 0, nil, fmt.Errorf("--cluster %q: want NODESxGPUS:TYPE, such as 4x4:t4, a type of letters, digits, . _ and -", text)
		}
		if timed {
			x, err := strconv.ParseFloat(by, 64)
			if had, twice := times[kind]; err != nil || !(x >= 0.001 && x <= 1000) || twice && had != x {
				return nil, 0, nil, fmt.Errorf("--cluster %q: want :TYPE=TIMES, such as t4=0.5 for half as fast as the workload says, 0.001 to 1000, and one figure a type", text)
			}
			if times == nil {
				times = map[string]float64{}
			}
			times[kind] = x
		}
		left, right, _ := strings.Cut(size, "x")
		count, err1 := strconv.Atoi(left)
		each, err2 := strconv.Atoi(right)
		if err1 != nil || err2 != nil || count < 1 || each < 1 {
			return nil, 0, nil, fmt.Errorf("--cluster %q: want NODESxGPUS, such as 16x4 for 16 nodes with 4 GPUs each", text)
		}
		if count > maxSimNodes-len(inventory) || each > (maxSimGPUs-gpus)/count {
			return nil, 0, nil, fmt.Errorf("--cluster %q: at most %d nodes and %d GPUs", text, maxSimNodes, maxSimGPUs)
		}
		gpus += count * each
		for range count {
			inventory = append(inventory, planner.Node{Name: "n" + strconv.Itoa(len(inventory)+1), GPUs: each, Type: kind, Usable: true})
		}
	}
	return inventory, gpus, times, nil
}

func validType(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	})
}

// faster is the speed factor of a type, for every model; nil if there is none.
func faster(times map[string]float64) func(model, kind string) float64 {
	if times == nil {
		return nil
	}
	return func(_, kind string) float64 {
		if x, told := times[kind]; told {
			return x
		}
		return 1
	}
}

// parseCosts reads the cost of one GPU for one hour: "0.1", or by type "a100=0.4,t4=0.1".
func parseCosts(text string) (*elastic.Costs, error) {
	out := &elastic.Costs{Value: 1, Types: map[string]float64{}}
	for part := range strings.SplitSeq(text, ",") {
		kind, cost, typed := strings.Cut(strings.TrimSpace(part), "=")
		if !typed {
			kind, cost = "", kind
		}
		x, err := strconv.ParseFloat(cost, 64)
		if err != nil || !(x >= 0 && x <= 1e6) || typed && !validType(kind) {
			return nil, fmt.Errorf("--gpu-cost %q: want what an hour of a GPU costs, 0 to 1e+06, such as 0.1, or by type a100=0.4,t4=0.1", text)
		}
		if typed {
			out.Types[kind] = x
		} else {
			out.GPU = x
		}
	}
	return out, nil
}

// perNode is the GPUs of the largest node.
func perNode(inventory []planner.Node) int {
	most := 0
	for _, n := range inventory {
		most = max(most, n.GPUs)
	}
	return most
}
