package site

import "testing"

// TestJobFields: the first of two equal names counts, and nothing else is taken for
// a field.
func TestJobFields(t *testing.T) {
	f := jobFields("JobId=7 JobName=a.sh Requeue=1 Restarts=2 Reason=Resources Comment=sluice:v1 JobName=other Empty= word TRES=cpu=1,gres/gpu=2")
	for name, want := range map[string]string{"JobId": "7", "JobName": "a.sh", "Restarts": "2", "TRES": "cpu=1,gres/gpu=2", "Empty": "", "word": ""} {
		if f[name] != want {
			t.Errorf("%s is %q, want %q", name, f[name], want)
		}
	}
}
