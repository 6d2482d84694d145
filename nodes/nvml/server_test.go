package nvml_test

import (
	"encoding/binary"
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
)

// server is go-nvml's simulated DGX A100 with what its mock does not have: counters,
// samples, events and slices, each of which a test may change.
type server struct {
	*dgxa100.Server
	gpus   []*gpu
	events []driver.EventData // still to be delivered
	closed bool
	freed  bool
}

// gpu is one of its devices. ret is the answer to every call; zero is success.
type gpu struct {
	*dgxa100.Device
	ret     driver.Return
	percent []uint32 // samples not yet seen
	stamp   uint64
	rate    uint32 // of GetUtilizationRates
	kept    bool   // the driver keeps samples
	errors  uint64
	failed  bool // row remapping
	action  uint32
	slices  []*mock.Device
	types   uint64
}

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func dgx(missing ...string) *server {
	s := &server{Server: dgxa100.New()}
	s.LookupSymbolFunc = func(name string) error {
		for _, m := range missing {
			if m == name {
				return driver.ERROR_FUNCTION_NOT_FOUND
			}
		}
		return nil
	}
	s.ShutdownFunc = func() driver.Return { s.closed = true; return driver.SUCCESS }
	s.EventSetCreateFunc = func() (driver.EventSet, driver.Return) { return s.eventSet(), driver.SUCCESS }
	for i := range s.Devices {
		g := &gpu{Device: s.Devices[i].(*dgxa100.Device), kept: true, types: driver.EventTypeXidCriticalError}
		g.UUID = "GPU-0000000" + string(rune('0'+i)) + "-aaaa-bbbb-cccc-dddddddddddd"
		g.MemoryInfo.Used = 10 << 30
		g.answer()
		s.gpus = append(s.gpus, g)
	}
	return s
}

func (s *server) eventSet() *mock.EventSet {
	return &mock.EventSet{
		FreeFunc: func() driver.Return { s.freed = true; return driver.SUCCESS },
		WaitFunc: func(uint32) (driver.EventData, driver.Return) {
			if len(s.events) == 0 {
				return driver.EventData{}, driver.ERROR_TIMEOUT
			}
			e := s.events[0]
			s.events = s.events[1:]
			return e, driver.SUCCESS
		},
	}
}

// strike makes the driver report a critical error.
func (s *server) strike(on int, xid uint64) {
	s.events = append(s.events, driver.EventData{Device: s.gpus[on].Device, EventType: driver.EventTypeXidCriticalError, EventData: xid})
}

// answer implements what the mock does not have.
func (g *gpu) answer() {
	g.GetMemoryInfoFunc = func() (driver.Memory, driver.Return) { return g.MemoryInfo, g.ret }
	g.GetPowerUsageFunc = func() (uint32, driver.Return) { return 312_500, g.ret }
	g.GetTotalEccErrorsFunc = func(driver.MemoryErrorType, driver.EccCounterType) (uint64, driver.Return) { return g.errors, g.ret }
	g.GetRemappedRowsFunc = func() (int, int, bool, bool, driver.Return) { return 0, 0, true, g.failed, g.ret }
	g.GetFieldValuesFunc = func(v []driver.FieldValue) driver.Return {
		binary.NativeEndian.PutUint32(v[0].Value[:], g.action)
		return g.ret
	}
	g.GetUtilizationRatesFunc = func() (driver.Utilization, driver.Return) { return driver.Utilization{Gpu: g.rate}, g.ret }
	g.GetSamplesFunc = func(_ driver.SamplingType, since uint64) (driver.ValueType, []driver.Sample, driver.Return) {
		if !g.kept || g.ret != driver.SUCCESS {
			return 0, nil, max(g.ret, driver.ERROR_NOT_SUPPORTED)
		}
		var out []driver.Sample
		for _, p := range g.percent {
			g.stamp += 1000
			out = append(out, sample(g.stamp, p))
		}
		g.percent = nil
		return driver.VALUE_TYPE_UNSIGNED_INT, append(out, driver.Sample{}, driver.Sample{}), driver.SUCCESS
	}
	g.GetSupportedEventTypesFunc = func() (uint64, driver.Return) { return g.types, g.ret }
	g.RegisterEventsFunc = func(uint64, driver.EventSet) driver.Return { return g.ret }
	g.GetMaxMigDeviceCountFunc = func() (int, driver.Return) { return 7, g.ret }
	g.GetMigDeviceHandleByIndexFunc = func(i int) (driver.Device, driver.Return) {
		if i >= len(g.slices) {
			return nil, driver.ERROR_NOT_FOUND
		}
		return g.slices[i], driver.SUCCESS
	}
}

// cut makes slices of the GPU.
func (g *gpu) cut(uuids ...string) {
	g.MigMode = driver.DEVICE_MIG_ENABLE
	for _, uuid := range uuids {
		g.slices = append(g.slices, &mock.Device{
			GetUUIDFunc: func() (string, driver.Return) { return uuid, driver.SUCCESS },
			GetNameFunc: func() (string, driver.Return) { return "Mock A100 MIG 1g.5gb", driver.SUCCESS },
			GetMemoryInfoFunc: func() (driver.Memory, driver.Return) {
				return driver.Memory{Total: 5 << 30, Used: 1 << 30}, driver.SUCCESS
			},
		})
	}
}

func sample(stamp uint64, percent uint32) driver.Sample {
	s := driver.Sample{TimeStamp: stamp}
	binary.NativeEndian.PutUint32(s.SampleValue[:], percent)
	return s
}
