package slurm_test

import (
	"fmt"

	"github.com/sluice-hpc/sluice/slurm"
)

func ExampleExpand() {
	nodes, err := slurm.Expand("gpu[01-03],login1")
	fmt.Println(nodes, err)
	_, err = slurm.Expand("gpu[1-")
	fmt.Println(err)
	// Output:
	// [gpu01 gpu02 gpu03 login1] <nil>
	// host list "gpu[1-": column 4: '[' without ']'
}

func ExampleCompress() {
	fmt.Println(slurm.Compress([]string{"gpu01", "gpu02", "gpu03", "login1"}))
	// Output:
	// gpu[01-03],login1
}
