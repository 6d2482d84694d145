package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// What each schema with sums has, and which of its rows get new sums.
func TestTablesOfEarlierSchemas(t *testing.T) {
	names := func(list []table) string {
		var out []string
		for _, t := range list {
			out = append(out, t.name)
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	const all = "answers complaints credits intents jobs samples segments"
	since2, since5 := strings.ReplaceAll(strings.TrimPrefix(all, "answers "), "credits ", ""), strings.ReplaceAll(all, "credits ", "")
	for schema, want := range map[int]struct{ tables, jobs, resealed string }{
		1: {since2, "SELECT * FROM jobs ORDER BY token", all},
		2: {since2, "SELECT * FROM jobs ORDER BY token", all},
		3: {since2, "SELECT * FROM jobs ORDER BY token", "jobs samples"},
		4: {since2, strings.ReplaceAll("SELECT "+jobColumns+" FROM jobs ORDER BY token", " barred, ending, account, slurm_uid,", ""), "jobs"},
		5: {since5, strings.ReplaceAll("SELECT "+jobColumns+" FROM jobs ORDER BY token", " barred, ending, account, slurm_uid,", ""), "jobs"},
		6: {since5, strings.ReplaceAll("SELECT "+jobColumns+" FROM jobs ORDER BY token", " account, slurm_uid,", ""), "jobs"},
		7: {since5, strings.ReplaceAll("SELECT "+jobColumns+" FROM jobs ORDER BY token", " slurm_uid,", ""), "jobs"},
		8: {all, strings.ReplaceAll("SELECT "+jobColumns+" FROM jobs ORDER BY token", " slurm_uid,", ""), "jobs"},
		9: {all, "SELECT " + jobColumns + " FROM jobs ORDER BY token", ""},
	} {
		was := before(schema)
		at := slices.IndexFunc(was, func(t table) bool { return t.name == "jobs" })
		if names(was) != want.tables || was[at].text != want.jobs || names(resealed(schema)) != want.resealed {
			t.Errorf("schema %d: %s; %s; new sums for %s", schema, names(was), was[at].text, names(resealed(schema)))
		}
	}
	if names(tables) != all {
		t.Errorf("the list of tables itself was changed: %s", names(tables))
	}
}

// A migration that sets another schema than its number changes nothing, nor do those before it.
func TestAMigrationOfAnotherNumber(t *testing.T) {
	path := filled(t)
	steps, err := scripts()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", source(path, busyFor))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for last, want := range map[string]string{"PRAGMA user_version = 12": "the migration to schema 11 set schema 12", "SELECT 1": "the migration to schema 11 set schema 10", "nonsense": "syntax error"} {
		if err := migrate(t.Context(), db, path, append(slices.Clone(steps), "PRAGMA user_version = 10", last)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", last, err, want)
		}
		if version, err := schema(t.Context(), db, path); err != nil || version != len(steps) {
			t.Errorf("%s left schema %d, %v", last, version, err)
		}
	}
}
