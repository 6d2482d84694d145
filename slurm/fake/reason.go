package fake

import (
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// The parts of Slurm's reason for a limit, by kind: before and after the name of the
// resource.
var limitReasons = map[string][2]string{
	"AssocGrp": {"AssocGrp", "Limit"}, "AssocMax": {"AssocMax", "PerJobLimit"}, "AssocMaxJobs": {"AssocMax", "Limit"},
	"AssocGrpRun": {"AssocGrp", "RunMinutes"}, "AssocGrpMins": {"AssocGrp", "Minutes"}, "AssocMaxMins": {"AssocMax", "MinutesPerJob"},
	"QOSGrp": {"QOSGrp", "Limit"}, "QOSMax": {"QOSMax", "PerJobLimit"}, "QOSMaxPerUser": {"QOSMax", "PerUserLimit"}, "MaxPerAccount": {"Max", "PerAccount"},
	"QOSMin": {"QOSMin", "NotSatisfied"}, "QOSGrpRun": {"QOSGrp", "RunMinutes"}, "QOSGrpMins": {"QOSGrp", "Minutes"}, "QOSMaxMins": {"QOSMax", "MinutesPerJob"},
}

// reasonOf is Slurm's reason for a kind of limit on a resource. Only some reasons about
// CPUs, nodes and jobs contain the word Limit.
func reasonOf(kind, of string) string {
	if rest, ok := strings.CutSuffix(kind, "MaxWall"); ok {
		return rest + "MaxWallDurationPerJobLimit"
	}
	resource := map[string]string{slurm.OfCPUs: "Cpu", slurm.OfNodes: "Node", slurm.OfMemory: "Mem", slurm.OfJobs: "Jobs", slurm.OfWall: "Wall", slurm.OfBilling: "Billing"}[of]
	if resource == "" {
		resource = "GRES"
	}
	words := limitReasons[kind]
	end := words[1]
	switch {
	case of == slurm.OfWall:
		end = "Limit"
	case resource == "GRES" || resource == "Billing" || resource == "Mem" && end != "Limit":
		end = strings.TrimSuffix(strings.TrimSuffix(end, "Limit"), "NotSatisfied")
	}
	return words[0] + resource + end
}
