package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// Banner is the line that the runner writes into a job's output where a run of the script
// begins and where it ends.
type Banner struct {
	Job     int64
	Segment int      // how often Slurm had requeued the job: RUN in `sluice history`
	End     bool     // the run ended; else it begins
	Words   []string // for people
	At      time.Time
}

// BannerBegin is what every banner begins with.
const BannerBegin = "== sluice: "

const (
	bannerEnd = " =="
	bannerGap = " · "
	// maxBanner bounds the lines that are examined, in bytes.
	maxBanner = 2 << 10
)

// String is the line, without its newline, in the form that ParseBanner reads.
func (b Banner) String() string {
	head := fmt.Sprintf("segment %d of job %d", b.Segment, b.Job)
	if b.End {
		head += " ended"
	}
	parts := []string{head}
	for _, w := range b.Words {
		w = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f || r == '·' {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(w, "?"))
		parts = append(parts, clipped(strings.TrimSpace(w), 300))
	}
	parts = append(parts, b.At.UTC().Format(time.RFC3339))
	return BannerBegin + strings.Join(parts, bannerGap) + bannerEnd
}

// ParseBanner reads a line of a job's output; ok is false if it is no banner. The text is
// as String wrote it.
func ParseBanner(line string) (b Banner, ok bool) {
	line = strings.TrimRight(line, "\r\n")
	inner, begins := strings.CutPrefix(line, BannerBegin)
	inner, ends := strings.CutSuffix(inner, bannerEnd)
	if !begins || !ends || len(line) > maxBanner {
		return Banner{}, false
	}
	parts := strings.Split(inner, bannerGap)
	if len(parts) < 2 {
		return Banner{}, false
	}
	head := strings.Fields(parts[0])
	if len(head) == 6 && head[5] == "ended" {
		b.End, head = true, head[:5]
	}
	if len(head) != 5 || head[0] != "segment" || head[2] != "of" || head[3] != "job" {
		return Banner{}, false
	}
	segment, bad := strconv.ParseUint(head[1], 10, 31)
	job, worse := strconv.ParseInt(head[4], 10, 64)
	at, worst := time.Parse(time.RFC3339, parts[len(parts)-1])
	if bad != nil || worse != nil || worst != nil || job < 1 {
		return Banner{}, false
	}
	b.Segment, b.Job, b.At, b.Words = int(segment), job, at, parts[1:len(parts)-1]
	return b, true
}

// clipped truncates a text to this many bytes without splitting a character.
func clipped(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max-3], "") + "..."
}

// announce writes a banner into the job's output, and into its error file if it has one.
// If the output must not contain anything else, set SLUICE_BANNERS=no in the script's
// environment.
func (r *run) announce(end bool, words ...string) {
	if r.alone {
		return
	}
	line := Banner{Job: r.job.id.Job, Segment: r.job.restarts, End: end, Words: words, At: r.Now()}.String() + "\n"
	for _, o := range r.outputs {
		if r.vars["SLUICE_BANNERS"] != "no" {
			o.put(line)
		}
		if !end {
			o.begin()
		}
	}
}

// beginning is the banner's text at a start of the script.
func (r *run) beginning() []string {
	where, from := "on "+r.Host, "from the start"
	if r.where.gpus > 0 {
		where = gpuCount(r.where.gpus) + " on " + r.where.split.String()
	}
	switch {
	case r.from.name != "" && r.fence != nil:
		from = "resumed from a checkpoint"
	case r.from.name != "":
		from = fmt.Sprintf("resumed from checkpoint %s (step %d, epoch %s)", r.from.name, r.from.step, strconv.FormatFloat(r.from.epoch, 'f', -1, 64))
	}
	if r.hang.again {
		return []string{"started again after it hung", where, from}
	}
	if r.state.tried > 0 {
		return []string{fmt.Sprintf("retry %d of %d", r.state.tried, r.state.retries), where, from}
	}
	return []string{where, from}
}

// ended is the banner's text if a script ended by itself, in the words of `sluice
// history` (journal.Ending) as far as the runner knows them.
func (r *run) ended(e ended) string {
	how := "failed: " + meaning(e.exit, r.memory())
	if e.exit.Code == 0 {
		how = "completed: exit code 0"
	}
	switch s := r.state; {
	case e.hung && s.phase == checkpoint.Starting:
		return "hung: " + r.hang.rest.String()
	case s.phase == checkpoint.Starting && s.tried > s.retries:
		return how
	case s.phase == checkpoint.Starting && s.tried > 0:
		return how + ", to be started again"
	case !r.done:
		return fmt.Sprintf("ended with exit code %d when asked to save", e.exit.Code)
	case s.stopping:
		return "stopped by Slurm"
	}
	return how
}

// stopped is the banner's text if a script was ended after its work was saved.
func (r *run) stopped() string {
	request := r.state.request
	switch {
	case request == nil:
		return "ended by sluice"
	case request.Target.GPUs() == 0:
		return "stopped, to wait for GPUs"
	case request.Target.GPUs() == r.where.gpus:
		return "moved to " + request.Target.String()
	}
	return "resized to " + gpuCount(request.Target.GPUs()) + " on " + request.Target.String()
}

func gpuCount(n int) string {
	if n == 1 {
		return "1 GPU"
	}
	return strconv.Itoa(n) + " GPUs"
}

// output is a file that the script's output goes to.
type output struct {
	file *os.File
	path string // "" if it is no file
	from int64  // size when the script was started; earlier contents are not the script's
}

// outputs are the files of the job's output: one, or two if errors have their own file,
// which is then last.
func outputs(out, errs *os.File) []*output {
	var all []*output
	var first os.FileInfo
	for _, f := range []*os.File{out, errs} {
		if f == nil {
			continue
		}
		info, err := f.Stat()
		if err != nil || (first != nil && os.SameFile(first, info)) {
			continue
		}
		first = info
		o := &output{file: f}
		o.path = o.name()
		all = append(all, o)
	}
	return all
}

// name is the path of the file; "" if it is no file, or has no name any more.
func (o *output) name() string {
	info, err := o.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(o.file.Fd())))
	if err != nil || !filepath.IsAbs(name) || len(name) > maxName {
		return ""
	}
	if there, err := os.Lstat(name); err != nil || !os.SameFile(info, there) {
		return ""
	}
	return name
}

// maxName bounds a path, in bytes.
const maxName = 4096

// put writes a line, after a newline if needed. A full disk or a closed pipe is ignored.
func (o *output) put(line string) {
	if last := o.tail(0, 1); len(last) == 1 && last[0] != '\n' {
		line = "\n" + line
	}
	o.file.WriteString(line)
}

// begin records that what follows is the script's.
func (o *output) begin() {
	if info, err := o.file.Stat(); err == nil {
		o.from = info.Size()
	}
}

// tail reads the last bytes of a file after an offset, at most most; nil if the output is
// not a file that can be read.
func (o *output) tail(from, most int64) []byte {
	info, err := o.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	// The file is open for writing only. The same file is opened again, whatever its name
	// is now.
	f, err := os.Open("/proc/self/fd/" + strconv.Itoa(int(o.file.Fd())))
	if err != nil {
		return nil
	}
	defer f.Close()
	size := info.Size() // grows while others still write
	from = min(size, max(from, size-most, 0))
	data := make([]byte, size-from)
	n, _ := f.ReadAt(data, from) // the readable part
	return data[:n]
}
