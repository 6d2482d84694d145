package gate

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// Pause is the time between two lines.
const Pause = time.Second

// Metrics are the names of the metrics that leave.
var Metrics = []string{
	"loss", "train_loss", "val_loss", "valid_loss", "test_loss", "accuracy", "acc", "train_accuracy", "val_accuracy", "val_acc",
	"test_accuracy", "auc", "val_auc", "f1", "dice", "iou", "perplexity", "lr", "learning_rate", "grad_norm",
}

// events are those of a program's lines that leave, in the order in which they do.
var events = []string{"hello", "resumed", "progress", "finished"}

// Self is what the runner itself says in every line.
type Self struct {
	Restarts, GPUs, Nodes int
}

// Queue holds the newest line of each kind that has not left.
type Queue struct {
	waiting map[string]checkpoint.Progress
}

// Add puts lines into the queue, in the order in which the program wrote them.
func (q *Queue) Add(lines []checkpoint.Progress) {
	if q.waiting == nil {
		q.waiting = map[string]checkpoint.Progress{}
	}
	for _, p := range lines {
		for _, e := range events {
			if p.Event == e {
				q.waiting[e] = p
			}
		}
	}
}

// Empty reports whether nothing waits.
func (q *Queue) Empty() bool { return len(q.waiting) == 0 }

// Next takes the line that is to leave next; ok is false if there is none.
func (q *Queue) Next() (p checkpoint.Progress, ok bool) {
	for _, e := range events {
		if p, ok = q.waiting[e]; ok {
			delete(q.waiting, e)
			return p, true
		}
	}
	return p, false
}

// Last takes the line that says most of a program that has ended; ok is false if there is
// none.
func (q *Queue) Last() (p checkpoint.Progress, ok bool) {
	for i := len(events) - 1; i >= 0 && !ok; i-- {
		p, ok = q.waiting[events[i]]
	}
	q.waiting = nil
	return p, ok
}

// May reports whether a line may leave now. A clock that was set back does not block longer
// than a pause.
func (l Ledger) May(now time.Time) bool {
	since := now.Sub(time.UnixMilli(l.Last))
	return l.Last == 0 || since >= Pause || since <= -Pause
}

// Pass returns the line that leaves for p, with its newline, and the ledger that counts it.
// ok is false, and nothing changes, if it is too early or the limit, in bytes, would be
// exceeded.
func (l Ledger) Pass(p checkpoint.Progress, self Self, limit int64, now time.Time) (next Ledger, line []byte, ok bool) {
	if !l.May(now) {
		return l, nil, false
	}
	line, err := json.Marshal(outward(p, self, now))
	if err != nil {
		return l, nil, false
	}
	line = append(line, '\n')
	if l.Bytes < 0 || l.Bytes > limit || int64(len(line)) > limit-l.Bytes {
		return l, nil, false
	}
	l.Bytes += int64(len(line))
	l.Last = now.UnixMilli()
	return l, line, true
}

// outward is what is left of a line.
func outward(p checkpoint.Progress, self Self, now time.Time) checkpoint.Progress {
	out := checkpoint.Progress{
		Time: float64(now.Unix()), Restarts: self.Restarts, GPUs: self.GPUs, Nodes: self.Nodes,
		Event: p.Event, Done: round(p.Done), Epoch: round(p.Epoch), Step: whole(p.Step), Seconds: round(p.Seconds),
	}
	for _, name := range Metrics {
		if v, known := p.Metric[name]; known {
			if out.Metric == nil {
				out.Metric = map[string]float64{}
			}
			out.Metric[name] = round(v)
		}
	}
	return out
}

// digits is how many significant digits of a number leave.
const digits = 4

// round keeps the significant digits; what is no finite number becomes 0, and so does what
// is too small or too large for a number of a training.
func round(x float64) float64 {
	if math.IsNaN(x) || math.Abs(x) < 1e-30 || math.Abs(x) > 1e30 {
		return 0
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
	if err != nil {
		return 0
	}
	return short
}

// whole is round for a count, which is never negative.
func whole(n int64) int64 { return int64(round(float64(min(max(n, 0), 1<<53)))) }
