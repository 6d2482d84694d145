package main

import (
	"fmt"
	"strconv"
	"strings"

	planner "github.com/sluice-hpc/sluice/nodes"
)

// What a simulated cluster may have at most.
const (
	maxSimNodes = 1_000_000
	maxSimGPUs  = 10_000_000
)

// parseCluster reads "16x4", or several kinds as "4x8,2x4", into free nodes named
// n1, n2 and so on.
func parseCluster(text string) (inventory []planner.Node, gpus int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		left, right, _ := strings.Cut(strings.TrimSpace(part), "x")
		count, err1 := strconv.Atoi(left)
		each, err2 := strconv.Atoi(right)
		if err1 != nil || err2 != nil || count < 1 || each < 1 {
			return nil, 0, fmt.Errorf("--cluster %q: want NODESxGPUS, such as 16x4 for 16 nodes with 4 GPUs each", text)
		}
		if count > maxSimNodes-len(inventory) || each > (maxSimGPUs-gpus)/count {
			return nil, 0, fmt.Errorf("--cluster %q: at most %d nodes and %d GPUs", text, maxSimNodes, maxSimGPUs)
		}
		gpus += count * each
		for range count {
			inventory = append(inventory, planner.Node{Name: "n" + strconv.Itoa(len(inventory)+1), GPUs: each, Usable: true})
		}
	}
	return inventory, gpus, nil
}

// perNode is the GPUs of the largest node.
func perNode(inventory []planner.Node) int {
	most := 0
	for _, n := range inventory {
		most = max(most, n.GPUs)
	}
	return most
}
