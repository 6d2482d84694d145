package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// firstSchema makes a store as the first release made it, without sums: one job, one run, one
// sample, an open move 7, and a closed move 9 that was pruned.
func firstSchema(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "state", "sluice.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	steps, err := scripts()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		steps[0],
		`INSERT INTO intents (id, job, kind, step, incarnation, placed, target, any_nodes, restarts, request, checkpoint, cause, fallbacks, opened)
			VALUES (7, 1, 'resize', 2, 3, '[]', '[]', 1, 2, 'r-1', '7', 'because', 0, 5), (9, 2, 'start', 1, 1, '[]', '[]', 0, 0, '', '', '', 0, 6)`,
		`DELETE FROM intents WHERE id = 9`,
		`INSERT INTO jobs VALUES ('tok', 1, 'name', 'ada', 1000, 'gpu', '{}', 5, NULL, NULL, 'RUNNING', '[]', 2, 1, 0, 1.5, 99, NULL, 1, 2, 3, 4, 5)`,
		`INSERT INTO segments VALUES ('tok', 2, 3, '[]', 5, NULL, 0, 1.5, -0.0, 'grew', 1, 2, 3, 4, 5)`,
		`INSERT INTO samples VALUES (4, 'm', 2, 1, 0.25, 1, 5)`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return path
}

// A store of the first release keeps its contents, and what is added gets sums too.
func TestFirstSchemaGetsSums(t *testing.T) {
	path := firstSchema(t)
	ctx := t.Context()
	for range 2 {
		s := must(t, path)
		open, err1 := s.Open(ctx)
		jobs, err2 := s.Jobs(ctx, time.Time{})
		runs, err3 := s.Segments(ctx, "tok")
		speeds, err4 := s.Samples(ctx, "m", 9)
		if len(open) < 1 || len(jobs) != 1 || len(runs) != 1 || len(speeds) < 1 || open[0].Cause != reason.Reason(reason.Text{Text: "because"}) || jobs[0].Done != 1.5 {
			t.Errorf("%v %v %v %v; %v %v %v %v", open, jobs, runs, speeds, err1, err2, err3, err4)
		}
		if len(open) == 1 {
			in, err := s.Intend(ctx, []elastic.Intent{contract.Intent(3)})
			if err != nil || in[0].ID != 10 {
				t.Errorf("the next move is %v, want 10, never an id of one that was pruned; %v", in, err)
			}
			if err := s.AddSamples(ctx, "m", []speed.Sample{{Seconds: 1, At: noon}}); err != nil {
				t.Error(err)
			}
		}
		if err := s.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
}
