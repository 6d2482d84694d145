package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// TestLaterJobsShareTheModel: jobs that are submitted later for a sweep learn with its first ones, and run
// trials as these do.
func TestLaterJobsShareTheModel(t *testing.T) {
	folder, token := t.TempDir(), strings.Repeat("a", 32)
	script := "#!/bin/bash\n#SLUICE --sweep=random --metric=acc:max --param x=int:1:9 --trial=job --max-gpus=4\ntrain {x}\n"
	data, err := json.Marshal(kept{Version: 1, Args: []string{"sweep.sh"}, Name: "sweep.sh", Body: []byte(script)})
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, keptFile), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	v := &sweepView{Sweep: sweep.Sweep{Token: token, Number: 7}, folder: folder}
	s, err := (&sweepCall{cmd: newCommand(nil)}).restore(v)
	if err != nil {
		t.Fatal(err)
	}
	if s.request.Spec.Model != sweep.Model(token) || !strings.Contains(string(s.laneScript()), " --elastic --grace=") {
		t.Errorf("%+v\n%s", s.request.Spec, s.laneScript())
	}
}
