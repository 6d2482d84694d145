package nvml_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"
	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/nodes/nvml"
)

func open(t *testing.T, s *server, gpus string) *nvml.Gauge {
	t.Helper()
	g, err := nvml.Open(s, map[string]string{"CUDA_VISIBLE_DEVICES": gpus})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// watch calls Look every 5 s for the given time.
func watch(g *nvml.Gauge, from time.Time, span time.Duration, each func()) time.Time {
	for end := from.Add(span); from.Before(end); from = from.Add(5 * time.Second) {
		each()
		g.Look(from)
	}
	return from
}

func TestUtilisationIsTheMeanOfTheDriversSamples(t *testing.T) {
	s := dgx()
	g := open(t, s, "1,2")
	s.gpus[2].kept = false // an older driver: only the present rate
	s.gpus[1].percent = []uint32{100, 100, 100}
	g.Look(start) // samples from before the gauge was opened do not count
	watch(g, start.Add(5*time.Second), 2*time.Minute, func() {
		s.gpus[1].percent = []uint32{10, 30, 20, 4_000_000_000}
		s.gpus[2].rate = 55
	})
	got := g.Read()
	if len(got) != 2 || got[0].Index != 1 || got[1].Index != 2 {
		t.Fatalf("devices %+v", got)
	}
	for i, want := range []float64{0.20, 0.55} {
		if math.Abs(got[i].Utilisation-want) > 1e-9 {
			t.Errorf("GPU %d: utilisation %v, want %v", got[i].Index, got[i].Utilisation, want)
		}
	}
	d := got[0]
	if d.MemoryUsed != 10<<30 || d.Memory != 42949672960 || d.Watts != 312.5 || d.Unfit != "" || d.MIG || !strings.HasPrefix(d.UUID, "GPU-00000001") {
		t.Errorf("device %+v", d)
	}
}

// TestFullyBusy: looks are never exactly 5 s apart, and their rounded shares add up to
// slightly more than the whole time.
func TestFullyBusy(t *testing.T) {
	s := dgx()
	g := open(t, s, "0")
	now := start
	for i := range 60 {
		s.gpus[0].percent = []uint32{100}
		now = now.Add(5*time.Second + time.Duration(i*i*104_729+1))
		g.Look(now)
		if d := g.Read()[0]; d.Utilisation > 1 {
			t.Fatalf("look %d: utilisation %v", i, d.Utilisation)
		}
	}
}

// TestWhateverTheDriverSays: the reader of a note accepts whatever a driver reported: one
// number out of range would invalidate the note on every GPU of the node.
func TestWhateverTheDriverSays(t *testing.T) {
	wild := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, math.MaxUint32, 1 << 50, 1<<50 + 1, math.MaxInt64, math.MaxUint64}))
	names := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "GPU-1\x00", "GPU-\xff", "GPU-" + strings.Repeat("1", 200), "MIG-GPU-1/2/0"}))
	rapid.Check(t, func(t *rapid.T) {
		s := dgx()
		gpu := s.gpus[0]
		gpu.UUID = names.Draw(t, "uuid")
		gpu.Name = names.Draw(t, "name")
		gpu.MemoryInfo = driver.Memory{Total: wild.Draw(t, "total"), Used: wild.Draw(t, "used")}
		gpu.GetPowerUsageFunc = func() (uint32, driver.Return) { return uint32(wild.Draw(t, "power")), driver.SUCCESS }
		gpu.errors, gpu.kept = wild.Draw(t, "errors"), rapid.Bool().Draw(t, "kept")
		if rapid.Bool().Draw(t, "sliced") {
			gpu.cut(names.Draw(t, "slice"))
		}
		for range rapid.IntRange(0, 20).Draw(t, "struck") {
			s.strike(0, wild.Draw(t, "xid"))
		}
		g, err := nvml.Open(s, map[string]string{"CUDA_VISIBLE_DEVICES": "0"})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		now := start
		for range 4 {
			gpu.percent, gpu.rate = []uint32{uint32(wild.Draw(t, "percent")), 100}, uint32(wild.Draw(t, "rate"))
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "later")))
			g.Look(now)
		}
		data, err := json.Marshal(checkpoint.Devices{Node: "gpu1", At: now, GPUs: g.Read()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := checkpoint.ParseDevices(data); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
	})
}

// TestRecall: an error that an earlier gauge of the run read, and that the driver reports
// once, counts for the same GPU, by index if it has no name.
func TestRecall(t *testing.T) {
	s := dgx()
	first := open(t, s, "0,1")
	s.strike(1, 119)
	first.Look(start)
	seen := first.Read()
	second := open(t, s, "0,1")
	if got := second.Read()[1]; got.Unfit != "" {
		t.Fatalf("known without being told: %+v", got)
	}
	second.Recall(seen)
	s.strike(1, 119)
	second.Look(start)
	if got := second.Read(); got[0].Unfit != "" || got[1].Unfit != seen[1].Unfit || !slices.Equal(got[1].XIDs, []int{119}) {
		t.Errorf("%+v", got)
	}
	for other, want := range map[string]bool{"GPU-of-another-machine": false, "": true, seen[1].UUID: true} {
		third, word := open(t, s, "0,1"), slices.Clone(seen)
		word[1].UUID = other
		third.Recall(word)
		if got := third.Read()[1].Unfit != ""; got != want {
			t.Errorf("recalled of %q: %v", other, got)
		}
	}
	slice := dgx()
	slice.gpus[1].cut("MIG-1")
	cut := open(t, slice, "MIG-1")
	cut.Recall([]nodes.Device{{Index: 1, UUID: "MIG-2", MIG: true, XIDs: []int{119}}})
	if got := cut.Read()[0]; got.Unfit == "" {
		t.Errorf("a slice is as well as its GPU: %+v", got)
	}
}

func TestUtilisationForgetsAndBegins(t *testing.T) {
	s := dgx()
	g := open(t, s, "0")
	now := watch(g, start, 40*time.Second, func() { s.gpus[0].percent = []uint32{0} })
	if got := g.Read()[0].Utilisation; got != -1 {
		t.Errorf("after 40 s: %v, want not known", got)
	}
	now = watch(g, now, 10*time.Minute, func() { s.gpus[0].percent = []uint32{90} })
	if got := g.Read()[0].Utilisation; math.Abs(got-0.9) > 1e-9 {
		t.Errorf("long after the idle start: %v, want 0.9", got)
	}
	// The driver stops reporting: the known values leave the window.
	s.gpus[0].ret = driver.ERROR_NOT_SUPPORTED
	now = watch(g, now, 6*time.Minute, func() {})
	if got := g.Read()[0].Utilisation; math.Abs(got-0.9) > 1e-9 && got != -1 {
		t.Errorf("driver silent: %v", got)
	}
	_ = now
}

func TestChoice(t *testing.T) {
	for _, c := range []struct {
		env     map[string]string
		all     bool
		indices []int
		names   []string
	}{
		{env: nil},
		{env: map[string]string{"CUDA_VISIBLE_DEVICES": ""}},
		{env: map[string]string{"CUDA_VISIBLE_DEVICES": "NoDevFiles"}},
		{env: map[string]string{"CUDA_VISIBLE_DEVICES": "", "SLURM_JOB_GPUS": "1"}},
		{env: map[string]string{"CUDA_VISIBLE_DEVICES": "0,1", "SLURM_JOB_GPUS": "2,3"}, indices: []int{0, 1}},
		{env: map[string]string{"SLURM_JOB_GPUS": "2, 3"}, indices: []int{2, 3}},
		{env: map[string]string{"CUDA_VISIBLE_DEVICES": "0,-1,1"}, indices: []int{0}},
		{env: map[string]string{"CUDA_VISIBLE_DEVICES": "GPU-1234,MIG-5"}, names: []string{"GPU-1234", "MIG-5"}},
		{env: map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"}, all: true},
		{env: map[string]string{"NVIDIA_VISIBLE_DEVICES": "void"}},
		{env: map[string]string{"SLURM_JOB_GPUS": "99999999999999999999,1"}},
	} {
		all, indices, names := nvml.Chosen(c.env)
		if all != c.all || !slices.Equal(indices, c.indices) || !slices.Equal(names, c.names) {
			t.Errorf("%v: %v %v %v", c.env, all, indices, names)
		}
	}
}

func TestWhichDevices(t *testing.T) {
	for _, c := range []struct {
		name, gpus string
		shown      int // devices a cgroup leaves; 0 = all
		want       []int
	}{
		{"by number", "6,7", 0, []int{6, 7}},
		{"by UUID and its beginning", "GPU-00000003-aaaa-bbbb-cccc-dddddddddddd,GPU-00000005", 0, []int{3, 5}},
		{"constrained, and numbered otherwise than shown", "6,7", 2, []int{0, 1}},
		{"fewer asked for than shown", "1", 2, []int{1}},
		{"all", "all", 3, []int{0, 1, 2}},
	} {
		s := dgx()
		if c.shown > 0 {
			s.DeviceGetHandleByIndexFunc = func(i int) (driver.Device, driver.Return) {
				if i >= c.shown {
					return nil, driver.ERROR_NO_PERMISSION
				}
				return s.Devices[i], driver.SUCCESS
			}
		}
		var got []int
		for _, d := range open(t, s, c.gpus).Read() {
			got = append(got, d.Index)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestNothingToLookAt(t *testing.T) {
	gpus := map[string]string{"SLURM_JOB_GPUS": "0"}
	for name, c := range map[string]struct {
		env    map[string]string
		change func(*server)
	}{
		"no GPU asked for": {nil, func(*server) {}},
		"no library":       {gpus, func(s *server) { s.InitFunc = func() driver.Return { return driver.ERROR_LIBRARY_NOT_FOUND } }},
		"no driver":        {gpus, func(s *server) { s.InitFunc = func() driver.Return { return driver.ERROR_DRIVER_NOT_LOADED } }},
		"no count": {gpus, func(s *server) {
			s.DeviceGetCountFunc = func() (int, driver.Return) { return -3, driver.ERROR_UNKNOWN }
		}},
		"negative count": {gpus, func(s *server) { s.DeviceGetCountFunc = func() (int, driver.Return) { return -3, driver.SUCCESS } }},
		"none permitted": {gpus, func(s *server) {
			s.DeviceGetHandleByIndexFunc = func(int) (driver.Device, driver.Return) { return nil, driver.ERROR_NO_PERMISSION }
		}},
	} {
		s := dgx()
		c.change(s)
		if g, err := nvml.Open(s, c.env); !errors.Is(err, nvml.ErrNothing) || g != nil {
			t.Errorf("%s: %v, %v", name, g, err)
		}
	}
}

func TestHealth(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*server)
		want   string
	}{
		{"well, with a row waiting to be remapped", func(*server) {}, ""},
		{"memory", func(s *server) { s.gpus[0].errors = 3 }, "uncorrectable memory errors: 3"},
		{"nonsense from the driver", func(s *server) { s.gpus[0].errors = math.MaxUint64 }, ""},
		{"remapping", func(s *server) { s.gpus[0].failed = true }, "row remapping failed"},
		{"lost", func(s *server) { s.gpus[0].ret = driver.ERROR_GPU_IS_LOST }, "lost: it no longer answers"},
		{"reset", func(s *server) { s.gpus[0].ret = driver.ERROR_RESET_REQUIRED }, "its driver asks for a reset"},
		{"reset, by its own word", func(s *server) { s.gpus[0].action = 4 }, "its driver asks for a reset"},
		{"peers drained", func(s *server) { s.gpus[0].action = 3 }, ""},
		{"nothing supported", func(s *server) { s.gpus[0].ret = driver.ERROR_NOT_SUPPORTED }, ""},
		{"no permission", func(s *server) { s.gpus[0].ret = driver.ERROR_NO_PERMISSION }, ""},
		{"off the bus", func(s *server) { s.strike(0, 79) }, "XID 79: fallen off the bus"},
		{"twice", func(s *server) { s.strike(0, 48); s.strike(0, 48); s.strike(0, 74) }, "XID 48: double-bit memory error; XID 74: NVLink error"},
		{"the program's own fault", func(s *server) { s.strike(0, 13); s.strike(0, 31); s.strike(0, 43) }, ""},
		{"contained, and recorded", func(s *server) { s.strike(0, 94); s.strike(0, 63) }, ""},
		{"another GPU's", func(s *server) { s.strike(5, 79) }, ""},
	} {
		s := dgx()
		g := open(t, s, "0,1")
		c.change(s)
		g.Look(start)
		got := g.Read()
		if got[0].Unfit != c.want || got[1].Unfit != "" {
			t.Errorf("%s: %q and %q, want %q", c.name, got[0].Unfit, got[1].Unfit, c.want)
		}
	}
}

func TestLostStaysLost(t *testing.T) {
	s := dgx()
	g := open(t, s, "0")
	s.gpus[0].ret = driver.ERROR_GPU_IS_LOST
	g.Read()
	s.gpus[0].ret = driver.SUCCESS
	if got := g.Read()[0].Unfit; !strings.Contains(got, "lost") {
		t.Errorf("came back by itself: %q", got)
	}
}

func TestLostBeforeTheJob(t *testing.T) {
	s := dgx()
	s.DeviceGetHandleByIndexFunc = func(i int) (driver.Device, driver.Return) {
		if i == 2 {
			return nil, driver.ERROR_GPU_IS_LOST
		}
		return s.Devices[i], driver.SUCCESS
	}
	g := open(t, s, "2,3")
	g.Look(start)
	got := g.Read()
	if len(got) != 2 || got[0].Unfit == "" || got[0].Utilisation != -1 || got[1].Unfit != "" {
		t.Errorf("%+v", got)
	}
}

func TestEventsAreOptional(t *testing.T) {
	for name, change := range map[string]func(*server){
		"no set": func(s *server) {
			s.EventSetCreateFunc = func() (driver.EventSet, driver.Return) { return nil, driver.ERROR_NOT_SUPPORTED }
		},
		"unsupported":  func(s *server) { s.gpus[0].types = 0 },
		"not for us":   func(s *server) { s.gpus[0].ret = driver.ERROR_NO_PERMISSION },
		"endless ones": func(s *server) { endless(s) },
	} {
		s := dgx()
		change(s)
		g := open(t, s, "0")
		g.Look(start) // returns
		if got := g.Read(); len(got) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// endless makes a driver that never runs out of events.
func endless(s *server) {
	set := s.eventSet()
	n := uint64(0)
	set.WaitFunc = func(uint32) (driver.EventData, driver.Return) {
		n++
		return driver.EventData{Device: s.gpus[0].Device, EventType: driver.EventTypeXidCriticalError, EventData: n}, driver.SUCCESS
	}
	s.EventSetCreateFunc = func() (driver.EventSet, driver.Return) { return set, driver.SUCCESS }
}

func TestSlices(t *testing.T) {
	const one, two, other = "MIG-1111", "MIG-2222", "MIG-3333"
	for name, c := range map[string]struct {
		gpus string
		want []string
	}{
		"by name":             {"MIG-1111", []string{one}},
		"two GPUs' by name":   {"MIG-2222,MIG-3333", []string{two, other}},
		"a GPU by its number": {"4", []string{one, two}},
		"another GPU":         {"0", nil},
	} {
		s := dgx()
		s.gpus[4].cut(one, two)
		s.gpus[5].cut(other)
		s.gpus[4].errors = 2
		g := open(t, s, c.gpus)
		watch(g, start, 2*time.Minute, func() { s.gpus[0].percent = []uint32{50} })
		var got []string
		for _, d := range g.Read() {
			if d.MIG {
				got = append(got, d.UUID)
				checkSlice(t, d)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// checkSlice: a slice has memory and a name of its own, its GPU's health, and no
// utilisation.
func checkSlice(t *testing.T, d nodes.Device) {
	t.Helper()
	if d.Utilisation != -1 || d.Memory != 5<<30 || d.Watts != 0 || !strings.Contains(d.Name, "1g.5gb") || (d.Index == 4) != (d.Unfit != "") {
		t.Errorf("slice %+v", d)
	}
}

// TestOldDriver: calls that a driver lacks would end the process, and are not made.
func TestOldDriver(t *testing.T) {
	s := dgx("nvmlDeviceGetRemappedRows", "nvmlDeviceGetMigMode", "nvmlDeviceGetFieldValues")
	s.gpus[0].GetRemappedRowsFunc = nil // it would panic if called
	s.gpus[0].GetFieldValuesFunc = nil
	s.gpus[0].GetMigModeFunc = nil
	g := open(t, s, "0")
	if got := g.Read(); len(got) != 1 || got[0].Unfit != "" {
		t.Errorf("%+v", got)
	}
}

func TestClose(t *testing.T) {
	s := dgx()
	g, err := nvml.Open(s, map[string]string{"SLURM_JOB_GPUS": "0"})
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	if !s.closed || !s.freed {
		t.Errorf("closed %v, events freed %v", s.closed, s.freed)
	}
}

func TestMeanOfNonsense(t *testing.T) {
	raw := sample(7, math.MaxUint32).SampleValue
	for kind := driver.ValueType(-1); kind < 9; kind++ {
		if share, _, ok := nvml.MeanOf(kind, []driver.Sample{{TimeStamp: 7, SampleValue: raw}}, 0); ok && (share < 0 || share > 1) {
			t.Errorf("type %d: %v", kind, share)
		}
	}
	nan := driver.Sample{TimeStamp: 7, SampleValue: [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}
	if _, _, ok := nvml.MeanOf(driver.VALUE_TYPE_DOUBLE, []driver.Sample{nan}, 0); ok {
		t.Error("NaN taken for a share")
	}
}

// TestAwait: a critical error is reported at once, and a wait is never longer than
// requested, endless or busy.
func TestAwait(t *testing.T) {
	s := dgx()
	g := open(t, s, "0")
	s.strike(0, 79)
	s.strike(0, 31)
	if !g.Await(time.Hour) || g.Await(0) {
		t.Error("not heard, or heard twice")
	}
	if got := g.Read()[0]; !strings.HasPrefix(got.Unfit, "XID 79") || !slices.Equal(got.XIDs, []int{79, 31}) {
		t.Errorf("%+v", got)
	}
	lost := dgx()
	set := lost.eventSet()
	waits := 0
	set.WaitFunc = func(uint32) (driver.EventData, driver.Return) {
		waits++
		return driver.EventData{}, driver.ERROR_GPU_IS_LOST
	}
	lost.EventSetCreateFunc = func() (driver.EventSet, driver.Return) { return set, driver.SUCCESS }
	h := open(t, lost, "0")
	if h.Await(10*time.Millisecond) || waits != 1 {
		t.Errorf("%d waits", waits)
	}
	s = dgx()
	s.gpus[0].types = 0
	if open(t, s, "0").Await(time.Millisecond) {
		t.Error("heard without listening")
	}
}
