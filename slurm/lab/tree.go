package lab

// programs maps the bare name of each Slurm program to its path.
type programs map[string]string

// clients are the Slurm programs a lab knows beside the needed ones.
var clients = []string{"squeue", "scancel", "salloc", "sacct", "sdiag", "sprio", "sattach", "sbcast", "strigger"}

// install finds the programs of this machine, or of the tree at root.
func install(root, bin string) (progs programs, plugins string, err error) {
	progs = programs{}
	for _, n := range needed {
		path, err := find(root, n.name)
		if err != nil {
			return nil, "", err
		}
		progs[n.name] = path
	}
	for _, name := range clients {
		if path, err := find(root, name); err == nil {
			progs[name] = path
		}
	}
	return progs, "", nil
}
