package main

import "github.com/sluice-hpc/sluice/checkpoint/runner"

// usualProfile is how many steps are measured where nobody says.
var usualProfile = runner.Profile{Warmup: 5, Steps: 20}
