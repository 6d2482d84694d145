package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stands is a script that waits for an srun, of a step of two nodes.
const stands = `
ln -sf /bin/bash $SLUICE_JOB_DIR/srun; step=$SLUICE_JOB_DIR/ranks/0.1; mkdir -p $step
echo '{"name":"gpu1","local":1}' >$step/0; echo '{"name":"gpu2","local":1}' >$step/1
say "start overlap ${SLURM_OVERLAP-none}"
[ -e $SLUICE_JOB_DIR/go ] && exit 5
`

const firstFailed = `{"name":"gpu1","rank":0,"code":1,"nodes":2}`

// TestStandsStill: nothing is concluded from a step that stands still for however
// long, nor from one that failed while the script goes on. A step that failed and
// does not end, with an srun that waits for it, ends the script.
func TestStandsStill(t *testing.T) {
	wait := `exec $SLUICE_JOB_DIR/srun -c 'until [ -e $SLUICE_JOB_DIR/go ]; do sleep 0.02; done; exit 5'`
	for what, c := range map[string]struct {
		script string
		hangs  bool
	}{
		"stands still":  {wait, false},
		"failed":        {"echo '" + firstFailed + "' >$step/failed; echo {} >$step/0.over; " + wait, true},
		"ends":          {"echo '" + firstFailed + "' >$step/failed; echo {} >$step/0.over; echo {} >$step/1.over; " + wait, false},
		"goes on":       {"echo '" + firstFailed + "' >$step/failed; until [ -e $SLUICE_JOB_DIR/go ]; do sleep 0.02; done; exit 5", false},
		"not a failure": {"echo '{' >$step/failed; " + wait, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newJob(t, stands+c.script)
			l.config.Linger, l.config.Patience = 50*time.Millisecond, 300*time.Millisecond
			l.start("SLURM_JOB_NODELIST=gpu[1-2]")
			l.tells("start overlap none")
			if c.hangs {
				l.until("it is stranded", func() bool { return l.word().Stranded })
				l.until("a second start", func() bool { return strings.Count(l.story(), "start overlap 1") == 1 })
			} else {
				time.Sleep(20 * l.config.Linger)
			}
			must(t, os.WriteFile(filepath.Join(l.dir, "go"), nil, 0o644))
			l.exits(5)
			if hung := strings.Contains(slurp(l.errs), "has not ended"); hung != c.hangs {
				t.Errorf("says %q", slurp(l.errs))
			}
		})
	}
}
