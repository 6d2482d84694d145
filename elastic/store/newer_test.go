package store

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

var update = flag.Bool("update", false, "add the present schema's line to testdata/kinds.txt")

// A store whose schema this sluice knows may contain a move that it does not know: it is
// refused before anything is done, and kept.
func TestMovesOfANewerSluiceAreRefused(t *testing.T) {
	for name, change := range map[string]func(*elastic.Intent){
		"kind": func(in *elastic.Intent) { in.Kind = "merge" },
		"step": func(in *elastic.Intent) { in.Step = 8 },
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t)
			s := must(t, path)
			in := contract.Intent(2)
			in.ID, in.Job = 0, 2
			change(&in)
			opened, err := s.Intend(t.Context(), []elastic.Intent{in})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Open(t.Context())
			refused(t, err, ErrNewer, "job 2, move 2", name)
			if err := s.Shutdown(); err != nil {
				t.Fatal(err)
			}
			_, _, err = Open(t.Context(), path, noon)
			refused(t, err, ErrNewer, "job 2, move 2", name, "install the newer sluice")

			// The newer one ends it; closed moves are not interpreted.
			conn, left := raw(t, path, "SELECT 1"), 0
			if err := conn.QueryRowContext(t.Context(), "SELECT count(*) FROM intents WHERE outcome IS NULL").Scan(&left); err != nil || left != 2 {
				t.Fatalf("%d open moves are left, %v: want 2, untouched", left, err)
			}
			conn.Close()
			end(t, path, opened[0])
			if open, err := must(t, path).Open(t.Context()); err != nil || len(open) != 1 {
				t.Errorf("%v, %v", open, err)
			}
		})
	}
}

// end closes a move as the newer sluice would.
func end(t *testing.T, path string, in elastic.Intent) {
	t.Helper()
	s := &Store{path: path}
	var err error
	if s.db, _, err = openFile(t.Context(), path, busyFor); err != nil {
		t.Fatal(err)
	}
	defer s.db.Close()
	if err := s.Close(t.Context(), in, elastic.Done, reason.MoveOver, noon); err != nil {
		t.Fatal(err)
	}
}

// The lists of kinds and steps, and the schema number, change together: testdata/kinds.txt has
// a line for each schema. -update adds the line of a new schema and changes no other.
func TestKindsAndSchemaChangeTogether(t *testing.T) {
	const file = "testdata/kinds.txt"
	steps, err := scripts()
	if err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(was)))
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	now := fmt.Sprintf("schema %d: kinds %v, steps %v", len(steps), elastic.Kinds(), elastic.MoveSteps())
	if last == now {
		return
	}
	if strings.HasPrefix(last, fmt.Sprintf("schema %d:", len(steps))) {
		t.Fatalf("%s has\n%s\nthe source has\n%s\nA kind or a step that an older sluice does not know needs a new schema: "+
			"add a migration that sets the next user_version, then run this test with -update", file, last, now)
	}
	if !*update {
		t.Fatalf("%s has no line for schema %d: run this test with -update", file, len(steps))
	}
	if err := os.WriteFile(file, []byte(string(was)+now+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
}
