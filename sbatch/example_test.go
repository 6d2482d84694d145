package sbatch_test

import (
	"errors"
	"fmt"

	"github.com/sluice-hpc/sluice/sbatch"
)

// A job script and a command line become one request. The command line wins over the script.
func ExampleMerge() {
	script, err := sbatch.ParseScript("train.sh", []byte(`#!/bin/bash
#SBATCH --time=8:00:00 --partition=gpu
#SLUICE --min-gpus=1 --max-gpus=8
srun "$SLUICE" ranks -- python3 train.py
`))
	if err != nil {
		fmt.Println(err)
	}
	line, err := sbatch.ParseCommandLine([]string{"--max-gpus=4", "train.sh"})
	if err != nil {
		fmt.Println(err)
	}
	r, err := sbatch.Merge(line, nil, script)
	fmt.Printf("%d to %d GPUs in %v, %v\n", r.Spec.Min, r.Spec.Max, r.Partitions, err)
	// Output:
	// 1 to 4 GPUs in [gpu], <nil>
}

// What cannot be resized is refused: the option, the place, the reason, and what to type.
func ExampleMerge_refused() {
	script, _ := sbatch.ParseScript("train.sh", []byte("#!/bin/bash\n#SLUICE --max-gpus=8\n#SBATCH --contiguous\n"))
	_, err := sbatch.Merge(sbatch.CommandLine{}, nil, script)
	var refused *sbatch.Error
	if errors.As(err, &refused) {
		fmt.Printf("%s:%d: %s is refused\n", refused.At.Source, refused.At.Line, refused.What)
	}
	// Output:
	// train.sh:3: --contiguous is refused
}
