package runner

import (
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/process"
)

// TestHangs: what makes a step one that hangs, look by look. "!" is a step that
// failed and has not ended; digits are the sruns that run, "-" is none.
func TestHangs(t *testing.T) {
	again := func(look string, n int) string { return strings.Repeat(look+" ", n) }
	for what, c := range map[string]struct {
		looks string
		hangs bool
	}{
		"for long":                        {"1 " + again("!1", hangLooks+1), true},
		"not for long":                    {"1 " + again("!1", hangLooks), false},
		"from the first look":             {again("!1", hangLooks+1), true},
		"nothing failed":                  {again("1", 100), false},
		"it ends after all":               {again("!1", hangLooks) + "1 " + again("!1", hangLooks), false},
		"no srun waits":                   {"1 " + again("!", 100), false},
		"the script is in its next step":  {"1 !1 " + again("!2", 100), false},
		"just started":                    {"- " + again("!1", hangLooks+1), true},
		"and was before this was seen":    {"1 " + again("!2", 100), false},
		"the srun of another waits":       {"12 " + again("!12", hangLooks+1), true},
		"the next step starts meanwhile":  {"1 " + again("!1", 3) + again("!12", hangLooks-2), true},
		"its srun ends in the last":       {"1 " + again("!1", hangLooks) + "!", false},
		"an earlier start of the script":  {again("!1", hangLooks) + "new " + again("!1", hangLooks), false},
		"its own start has all the looks": {again("!1", hangLooks) + "new 1 " + again("!1", hangLooks+1), true},
	} {
		var h hang
		hangs := false
		for look := range strings.FieldsSeq(c.looks) {
			if look == "new" {
				h.started()
				continue
			}
			step, now := "", sruns{}
			for _, r := range look {
				switch r {
				case '!':
					step = "0.1"
				case '-':
				default:
					now[process.Instance{PID: int(r)}] = true
				}
			}
			hangs = h.find(step, now)
		}
		if hangs != c.hangs {
			t.Errorf("%s: %v", what, hangs)
		}
	}
}
