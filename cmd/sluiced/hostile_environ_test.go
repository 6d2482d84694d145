package main_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// poison is an environment as a job of another cluster, a site's profile or somebody's
// colleague may leave it behind: other sizes, other jobs, other people's folders.
func (s *siege) poison() []string {
	env := []string{"LD_LIBRARY_PATH=/nowhere", "LD_DEBUG_OUTPUT=/nowhere/x", "BASH_ENV=/nowhere", "ENV=/nowhere", "PYTHONSTARTUP=/nowhere"}
	for _, name := range []string{"SLUICE_JOB_DIR", "SLUICE_CHECKPOINTS", "SLUICE_REQUEST", "SLUICE_GPU_FILES"} {
		env = append(env, name+"="+filepath.Join(s.Jobs, s.token))
	}
	for name, value := range map[string]string{
		"SLUICE_JOB_ID": fmt.Sprint(s.victim.id), "SLUICE_GPUS": "99", "SLUICE_NODES": "99", "SLUICE_RESTARTS": "99", "SLUICE_INCARNATION": "99", "SLUICE_RESUME": "/etc", "SLUICE_SPLIT": "gpu1:99",
		"SLURM_JOB_ID": "1", "SLURM_JOBID": "1", "SLURM_RESTART_COUNT": "99", "SLURM_NTASKS": "99", "SLURM_NPROCS": "99", "SLURM_NNODES": "99", "SLURM_JOB_NUM_NODES": "99",
		"SLURM_GPUS": "99", "SLURM_GPUS_PER_NODE": "99", "SLURM_GPUS_PER_TASK": "99", "SLURM_GPUS_ON_NODE": "99", "SLURM_JOB_GPUS": "9", "SLURM_STEP_GPUS": "9", "CUDA_VISIBLE_DEVICES": "9",
		"SLURM_JOB_NODELIST": "gpu[7-9]", "SLURM_STEP_NODELIST": "gpu9", "SLURM_NODEID": "9", "SLURM_PROCID": "9", "SLURM_LOCALID": "9", "SLURM_STEP_ID": "9",
		"SLURM_CPUS_PER_TASK": "99", "SLURM_CPUS_PER_GPU": "99", "SLURM_TRES_PER_TASK": "gres:gpu:99", "SLURM_NTASKS_PER_NODE": "99", "SLURM_OVERLAP": "1", "SLURM_EXACT": "1", "SLURM_HINT": "nomultithread",
		"SLURM_SUBMIT_DIR": "/nowhere", "SLURM_UMASK": "0077", "SLURM_TIME_FORMAT": "relative", "SLURM_EXIT_ERROR": "77", "SLURM_DEBUG": "9",
		"SLURM_OPEN_MODE": "t", "SLURM_STDOUTMODE": "/nowhere", "SLURM_EXPORT_ENV": "NONE", "SLURM_CPU_BIND": "map_cpu:99", "SLURM_MPI_TYPE": "none", "SLURM_DISTRIBUTION": "arbitrary",
		"SBATCH_NO_REQUEUE": "1", "SBATCH_OPEN_MODE": "truncate", "SBATCH_DEBUG": "9", "SBATCH_GET_USER_ENV": "1", "SBATCH_IGNORE_PBS": "1", "SBATCH_DELAY_BOOT": "1", "SBATCH_WAIT_ALL_NODES": "1",
		"SQUEUE_FORMAT": "%i", "SQUEUE_STATES": "F", "SINFO_FORMAT": "%n", "SCONTROL_ALL": "0", "SCANCEL_USER": "root", "SCANCEL_STATE": "F", "SLURM_BITSTR_LEN": "1",
	} {
		env = append(env, name+"="+value)
	}
	return env
}

// poisoned submits from such an environment, and returns the job: it is to train like
// any other. What its environment says of another's job and folder is to be nothing.
func (s *siege) poisoned(name string) *job {
	s.t.Helper()
	j := &job{s: s.scene, user: name, name: "poisoned", epochs: 5}
	path := filepath.Join(s.Home(name), "poisoned.sh")
	s.write(path, fmt.Sprintf("#!/bin/bash\nexec /usr/bin/python3 -u %s --steps-log %s --epochs 5 --seconds 0.2\n", s.Path("loop.py"), j.stepsLog()))
	cmd, err := s.Command(s.ctx, name, "sluice", "submit", "--parsable", "--epochs=5", "--max-gpus=1", "--output=poisoned.out", path)
	s.must(err)
	env := s.poison()
	cmd.Env = append(cmd.Env, env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("a submit from a poisoned environment: %v: %s", err, errs.String())
	}
	if j.id, err = strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64); err != nil {
		s.t.Fatalf("it printed %q: %v", out, err)
	}
	s.figure("a job from an environment with %d poisoned variables", len(env))
	return j
}
