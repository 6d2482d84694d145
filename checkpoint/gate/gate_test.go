package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// anyLine is a line as a hostile program may write it.
func anyLine(t *rapid.T) checkpoint.Progress {
	number := rapid.Float64()
	return checkpoint.Progress{
		Time: number.Draw(t, "time"), Restarts: rapid.Int().Draw(t, "restarts"),
		Event: rapid.SampledFrom([]string{"hello", "progress", "resumed", "finished", "pace", "", "secret"}).Draw(t, "event"),
		Done:  number.Draw(t, "done"), Epoch: number.Draw(t, "epoch"), Step: rapid.Int64().Draw(t, "step"), Seconds: number.Draw(t, "seconds"),
		GPUs: rapid.Int().Draw(t, "gpus"), Nodes: rapid.Int().Draw(t, "nodes"), Pace: number.Draw(t, "pace"), Steps: rapid.Int64().Draw(t, "steps"),
		Metric: rapid.MapOf(rapid.SampledFrom(append([]string{"patient 7", "x"}, Metrics...)), number).Draw(t, "metric"),
		NaN:    rapid.SliceOf(rapid.String()).Draw(t, "nan"),
	}
}

// TestNeverMoreThanAllowed: whatever the program writes, whenever the runner is started
// again, no more bytes leave than allowed, in no form but the gate's, and not faster.
func TestNeverMoreThanAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 4000).Draw(t, "limit")
		ledger, queue := New(), Queue{}
		now := time.Unix(1_800_000_000, 0)
		var last time.Time
		var left bytes.Buffer
		for range rapid.IntRange(1, 60).Draw(t, "rounds") {
			now = now.Add(time.Duration(rapid.IntRange(0, 2500).Draw(t, "ms")) * time.Millisecond)
			queue.Add([]checkpoint.Progress{anyLine(t)})
			if rapid.Bool().Draw(t, "restart") { // with what was stored
				stored, err := Parse(ledger.Data())
				if err != nil {
					t.Fatal(err)
				}
				ledger, queue = stored, Queue{}
				continue
			}
			p, ok := queue.Next()
			if !ok {
				continue
			}
			next, line, ok := ledger.Pass(p, Self{Restarts: 3, GPUs: 2, Nodes: 1}, limit, now)
			if !ok {
				continue
			}
			if !last.IsZero() && now.Sub(last) < Pause {
				t.Fatalf("two lines within %v", now.Sub(last))
			}
			ledger, last = next, now
			left.Write(line)
			examine(t, line)
		}
		if int64(left.Len()) > limit {
			t.Fatalf("%d bytes left, %d are allowed", left.Len(), limit)
		}
		if int64(left.Len()) != ledger.Bytes {
			t.Fatalf("%d bytes left, the ledger says %d", left.Len(), ledger.Bytes)
		}
	})
}

// examine demands that a line has known keys and short numbers only.
func examine(t *rapid.T, line []byte) {
	if bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
		t.Fatalf("not one line: %q", line)
	}
	if _, err := checkpoint.ParseProgress(bytes.TrimSpace(line)); err != nil && !strings.Contains(err.Error(), "want") {
		t.Fatalf("%s: %v", line, err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var all map[string]any
	if err := dec.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for key, value := range all {
		switch v := value.(type) {
		case json.Number:
			if key != "time" { // it is the runner's
				short(t, key, v)
			}
		case string:
			if key != "event" || !slices.Contains(events, v) {
				t.Fatalf("%s: %q", key, v)
			}
		case map[string]any:
			for name, n := range v {
				if key != "metric" || !slices.Contains(Metrics, name) {
					t.Fatalf("%s: %s", key, name)
				}
				short(t, name, n.(json.Number))
			}
		default:
			t.Fatalf("%s: %v", key, v)
		}
	}
	if all["restarts"] != json.Number("3") || all["gpus"] != json.Number("2") {
		t.Fatalf("%s: the program's word for the runner's", line)
	}
}

func short(t *rapid.T, key string, n json.Number) {
	f, err := n.Float64()
	if err != nil {
		t.Fatal(err)
	}
	mantissa, _, _ := strings.Cut(strconv.FormatFloat(math.Abs(f), 'e', -1, 64), "e")
	if len(strings.ReplaceAll(mantissa, ".", "")) > digits {
		t.Fatalf("%s: %s has more than %d significant digits", key, n, digits)
	}
}

func TestLinesOfOneKindReplaceEachOther(t *testing.T) {
	var q Queue
	q.Add([]checkpoint.Progress{{Event: "progress", Step: 1}, {Event: "finished"}, {Event: "progress", Step: 2}, {Event: "hello"}, {Event: "pace"}})
	var got []string
	for p, ok := q.Next(); ok; p, ok = q.Next() {
		got = append(got, p.Event+strconv.FormatInt(p.Step, 10))
	}
	if want := "hello0 progress2 finished0"; strings.Join(got, " ") != want || !q.Empty() {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestClockSetBack(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	l, _, ok := New().Pass(checkpoint.Progress{Event: "progress"}, Self{}, 1000, now)
	if !ok || l.May(now.Add(-Pause/2)) || !l.May(now.Add(-time.Hour)) {
		t.Error("a clock that is set back by an hour blocks the gate, or one by half a second opens it")
	}
}

func TestLedgerRefused(t *testing.T) {
	for _, text := range []string{"", "{", "{}", `{"version":2}`, `{"version":1,"bytes":-1,"first":1}`, `{"version":1,"first":1,"more":1}`,
		`{"version":1,"first":1,"names":["00000002","00000001"]}`, `{"version":1,"first":1} {}`} {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrLedger) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, _, ok := Spent(100).Pass(checkpoint.Progress{Event: "progress"}, Self{}, 100, time.Unix(1, 0)); ok {
		t.Error("a line left by a ledger that is spent")
	}
}

// TestNamesOutside: a name outside says only how many checkpoints were named before it.
func TestNamesOutside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := New()
		for range rapid.IntRange(1, 200).Draw(t, "n") {
			real := checkpoint.Name(rapid.IntRange(0, maxSequence).Draw(t, "sequence"))
			newest := ""
			if len(l.Names) > 0 {
				newest = l.Names[len(l.Names)-1]
			}
			next, outside := l.Outside(real)
			if real > newest {
				if next.Inside(outside) != real {
					t.Fatalf("%s is %s outside, which is %q inside", real, outside, next.Inside(outside))
				}
				if _, again := next.Outside(real); again != outside {
					t.Fatalf("%s is %s and %s outside", real, outside, again)
				}
			} else if len(next.Names) != len(l.Names) {
				t.Fatalf("an old checkpoint got a new name")
			}
			var err error
			if l, err = Parse(next.Data()); err != nil {
				t.Fatal(err)
			}
		}
	})
	if _, outside := New().Outside(""); outside != "" {
		t.Error("no checkpoint has a name")
	}
}
