package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"

	"github.com/sluice-hpc/sluice/checkpoint"
)

const asProgram = "SLUICE_TEST_AS_NVML"

// TestMain is the program itself, on a simulated machine, where a test asks for it.
func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "":
		os.Exit(m.Run())
	case "main":
		main()
	case "parent": // starts the program and is gone soon
		c := exec.Command(os.Args[0], os.Args[1:]...)
		c.Env = append(os.Environ(), asProgram+"=")
		c.Env = append(c.Env, asProgram+"=well")
		if err := c.Start(); err != nil {
			os.Exit(9)
		}
		time.Sleep(500 * time.Millisecond)
		os.Stdout.WriteString(strings.TrimSpace(string(mustJSON(c.Process.Pid))))
		os.Exit(0)
	}
	o := options{node: "gpu1", look: 20 * time.Millisecond, every: 50 * time.Millisecond, stuck: time.Second}
	if len(os.Args) > 1 {
		o.into = os.Args[1]
	}
	os.Exit(run(o, machine(os.Getenv(asProgram)), os.Stdout))
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// machine is a simulated DGX A100 with a given behaviour.
func machine(mood string) *dgxa100.Server {
	s := dgxa100.New()
	s.EventSetCreateFunc = func() (driver.EventSet, driver.Return) { return nil, driver.ERROR_NOT_SUPPORTED }
	if mood == "none" {
		s.InitFunc = func() driver.Return { return driver.ERROR_LIBRARY_NOT_FOUND }
	}
	if mood == "struck" { // by a critical error on GPU 3, once
		told := 0
		s.EventSetCreateFunc = func() (driver.EventSet, driver.Return) {
			return &mock.EventSet{FreeFunc: func() driver.Return { return driver.SUCCESS }, WaitFunc: func(ms uint32) (driver.EventData, driver.Return) {
				if told == 1 {
					time.Sleep(time.Duration(ms) * time.Millisecond)
					return driver.EventData{}, driver.ERROR_TIMEOUT
				}
				told++
				return driver.EventData{Device: s.Devices[3], EventType: driver.EventTypeXidCriticalError, EventData: 119}, driver.SUCCESS
			}}, driver.SUCCESS
		}
	}
	if mood == "hangs at once" {
		s.InitFunc = func() driver.Return { select {} }
	}
	looks := 0
	for i, d := range s.Devices {
		d.(*dgxa100.Device).UUID = fmt.Sprintf("GPU-0000000%d", i) // the mock's own differ from start to start
		d := &d.(*dgxa100.Device).Device
		answer(d)
		d.GetTotalEccErrorsFunc = func(driver.MemoryErrorType, driver.EccCounterType) (uint64, driver.Return) {
			if looks++; mood == "hangs later" && looks > 4 {
				select {}
			}
			return 0, driver.SUCCESS
		}
	}
	return s
}

func answer(d *mock.Device) {
	d.GetSupportedEventTypesFunc = func() (uint64, driver.Return) { return driver.EventTypeXidCriticalError, driver.SUCCESS }
	d.RegisterEventsFunc = func(uint64, driver.EventSet) driver.Return { return driver.SUCCESS }
	d.GetPowerUsageFunc = func() (uint32, driver.Return) { return 0, driver.ERROR_NOT_SUPPORTED }
	d.GetRemappedRowsFunc = func() (int, int, bool, bool, driver.Return) { return 0, 0, false, false, driver.SUCCESS }
	d.GetFieldValuesFunc = func([]driver.FieldValue) driver.Return { return driver.ERROR_NOT_SUPPORTED }
	d.GetUtilizationRatesFunc = func() (driver.Utilization, driver.Return) { return driver.Utilization{Gpu: 40}, driver.SUCCESS }
	d.GetSamplesFunc = func(driver.SamplingType, uint64) (driver.ValueType, []driver.Sample, driver.Return) {
		return 0, nil, driver.ERROR_NOT_SUPPORTED
	}
}

// program starts the program with a behaviour; into is the job's folder or empty.
func program(t *testing.T, mood string, into ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	c := exec.Command(os.Args[0], into...)
	c.Env = []string{asProgram + "=" + mood, "CUDA_VISIBLE_DEVICES=2,3", "SLURM_RESTART_COUNT=7"}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	return c, &out, &errs
}

// within waits for a condition.
func within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in 20 s: %s", what)
		}
	}
}

func TestOneLine(t *testing.T) {
	c, out, errs := program(t, "well")
	if err := c.Wait(); err != nil || errs.Len() > 0 {
		t.Fatalf("%v %s", err, errs)
	}
	d, err := checkpoint.ParseDevices(out.Bytes())
	if err != nil || d.Node != "gpu1" || len(d.GPUs) != 2 || d.GPUs[1].Index != 3 {
		t.Errorf("%q: %+v, %v", out, d, err)
	}
}

func TestSilentWithoutADriver(t *testing.T) {
	dir := t.TempDir()
	for _, into := range [][]string{nil, {dir}} {
		c, out, errs := program(t, "none", into...)
		if err := c.Wait(); err != nil || out.Len()+errs.Len() > 0 {
			t.Errorf("%v: %v %q %q", into, err, out, errs)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("it wrote %v", entries)
	}
}

// TestKeeps: the file in the job's folder is renewed, signals for the job's processes are
// ignored, and a SIGTERM ends it.
func TestKeeps(t *testing.T) {
	dir := t.TempDir()
	c, out, errs := program(t, "well", dir)
	read := func() checkpoint.Devices {
		data, _ := os.ReadFile(filepath.Join(dir, checkpoint.Gauges, checkpoint.GaugeFile(7, "gpu1")))
		d, _ := checkpoint.ParseDevices(data)
		return d
	}
	within(t, "a file", func() bool { return len(read().GPUs) == 2 })
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGALRM, syscall.SIGQUIT} {
		c.Process.Signal(s)
	}
	first := read().At
	within(t, "a newer one", func() bool { return read().At.After(first) })
	c.Process.Signal(syscall.SIGTERM)
	if c.Wait(); out.Len()+errs.Len() > 0 {
		t.Errorf("it said %q %q", out, errs)
	}
}

// TestStartedAgain: the driver reports a critical error once, and a program that is
// started later in the same run knows it nevertheless.
func TestStartedAgain(t *testing.T) {
	dir := t.TempDir()
	read := func() checkpoint.Devices {
		data, _ := os.ReadFile(filepath.Join(dir, checkpoint.Gauges, checkpoint.GaugeFile(7, "gpu1")))
		d, _ := checkpoint.ParseDevices(data)
		return d
	}
	unfit := func() bool { d := read(); return len(d.GPUs) == 2 && d.GPUs[0].Unfit == "" && d.GPUs[1].Unfit != "" }
	first, _, _ := program(t, "struck", dir)
	within(t, "an unfit GPU", unfit)
	first.Process.Kill()
	first.Wait()
	before := read().At
	program(t, "well", dir)
	within(t, "a word of the second", func() bool { return read().At.After(before) })
	if !unfit() {
		t.Errorf("forgotten: %+v", read().GPUs)
	}
}

func TestEndsWithItsParent(t *testing.T) {
	c, out, _ := program(t, "parent", t.TempDir())
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	within(t, "process "+out.String()+" ends", func() bool {
		cmd, err := os.ReadFile("/proc/" + out.String() + "/cmdline")
		return err != nil || len(cmd) == 0
	})
}

// TestHangingDriver: it ends by itself, with an exit code for this case.
func TestHangingDriver(t *testing.T) {
	for _, mood := range []string{"hangs at once", "hangs later"} {
		c, _, _ := program(t, mood, t.TempDir())
		if c.Wait(); c.ProcessState.ExitCode() != hung {
			t.Errorf("%s: %v", mood, c.ProcessState)
		}
	}
}

// TestFolderThatStutters: a temporary write error does not end it.
func TestFolderThatStutters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not yet")
	program(t, "well", dir)
	time.Sleep(300 * time.Millisecond)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	within(t, "a file", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, checkpoint.Gauges, "*.json"))
		return len(found) == 1
	})
}

// TestHelpFits: the help is no wider than a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	c := exec.Command(os.Args[0], "--help")
	c.Env = append(os.Environ(), asProgram+"=main")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "-into") {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(string(out), "    \t", "        "), "\n") {
		if len(line) > 80 || strings.Contains(line, "\t") && len(line) > 70 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}
