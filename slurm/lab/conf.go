package lab

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// site is all that the configuration files depend on.
type site struct {
	Config   Config
	Release  release
	Cluster  string // unique: it marks the processes of this lab's jobs
	Host     string // short host name
	Loopback bool   // the host name resolves to 127.0.0.1 only
	Slurm    string // SlurmUser
	Slurmd   string // the account slurmd runs as
	CtldPort int
	DbdPort  int    // 0 = no accounting
	Ports    []int  // one a node
	Plugins  string // PluginDir; "" = built in
}

// setting is one "Key=Value" of slurm.conf.
type setting struct{ key, value string }

// slurmConf renders slurm.conf.
func (s site) slurmConf() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Slurm %s, a sluice lab. Rewritten by every \"sluice lab up\".\n", s.Release.Text)
	own := keys(s.Config.ExtraConf)
	for _, set := range s.settings() {
		if !own[strings.ToLower(set.key)] {
			fmt.Fprintf(&b, "%s=%s\n", set.key, set.value)
		}
	}
	if extra := strings.TrimSpace(s.Config.ExtraConf); extra != "" {
		fmt.Fprintf(&b, "# asked for\n%s\n", extra)
	}
	s.writeNodes(&b)
	s.writePartitions(&b)
	return b.String()
}

// settings are the global keys in the order they are written.
func (s site) settings() []setting {
	d := layout(s.Config.Dir)
	list := []setting{
		{"ClusterName", s.Cluster},
		{"SlurmctldHost", s.Host + "(" + primaryAddr + ")"},
		{"SlurmctldPort", fmt.Sprint(s.CtldPort)},
		{"SlurmUser", s.Slurm},
		{"SlurmdUser", s.Slurmd},
		{"AuthType", "auth/munge"},
		{"AuthInfo", "socket=" + d.mungeSocket()},
		{"StateSaveLocation", d.join("ctld")},
		{"SlurmdSpoolDir", d.spool("%n")},
		{"SlurmctldPidFile", d.join("run", "slurm", "slurmctld.pid")},
		{"SlurmdPidFile", d.join("run", "slurm", "slurmd-%n.pid")},
		{"SlurmctldLogFile", d.log("slurmctld")},
		{"SlurmdLogFile", d.log("slurmd-%n")},
		// For package elastic/audit: the caller of a request is logged at debug2 only,
		// and the GPUs that a run got and freed only with these flags.
		{"SlurmctldDebug", "debug2"},
		{"DebugFlags", "Gres,TraceJobs"},
		{"SlurmdDebug", "info"},
		{"JobCompType", "jobcomp/filetxt"},
		{"JobCompLoc", d.log("jobcomp")},
		{"MailProg", "/bin/true"},
		// No cgroups and no systemd needed.
		{"ProctrackType", "proctrack/linuxproc"},
		{"TaskPlugin", "task/none"},
		{"MpiDefault", "none"},
		{"SelectType", "select/cons_tres"},
		{"SelectTypeParameters", "CR_Core"},
		// By submission order, as without accounting on a site.
		{"PriorityType", "priority/basic"},
		// The resource limits (ulimit) of the caller do not apply to jobs.
		{"PropagateResourceLimits", "NONE"},
		// Nodes claim more CPUs and memory than the machine has.
		{"SlurmdParameters", "config_overrides"},
		// A node that was killed and started again returns to service by itself.
		{"ReturnToService", "2"},
		{"SlurmdTimeout", seconds(s.Config.SlurmdTimeout)},
		// Several daemons and trainings share few slow cores. MessageTimeout keeps
		// Slurm's 10 s: it is also how long a command waits for a dead slurmctld.
		{"BatchStartTimeout", "60"},
		{"MinJobAge", seconds(s.Config.MinJobAge)},
	}
	if s.Config.FastScheduling {
		list = append(list, setting{"SchedulerParameters", "sched_interval=2,bf_interval=2,batch_sched_delay=0"})
	}
	if s.Config.GPUs > 0 {
		list = append(list, setting{"GresTypes", "gpu"})
	}
	if s.Config.Accounting {
		list = append(list, s.accountingSettings()...)
	}
	if s.Config.Backup {
		list = append(list, setting{"SlurmctldHost", s.Host + backupSuffix + "(" + backupAddr + ")"}, setting{"SlurmctldTimeout", "6"})
	}
	switch {
	case s.Loopback:
		list = append(list, setting{"CommunicationParameters", "NoCtldInAddrAny,NoInAddrAny"})
	case s.Config.Backup: // each finds its address in the lab's hosts file
		list = append(list, setting{"CommunicationParameters", "NoCtldInAddrAny"})
	}
	if s.Plugins != "" {
		list = append(list, setting{"PluginDir", s.Plugins})
	}
	if !s.Release.atLeast(21, 8) {
		// 20.11 needs a gatherer to notice that steps have ended.
		list = append(list, setting{"JobAcctGatherType", "jobacct_gather/linux"})
	}
	return list
}

func (s site) writeNodes(b *strings.Builder) {
	c := s.Config
	for i, name := range c.NodeNames() {
		fmt.Fprintf(b, "NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=%d SocketsPerBoard=1 CoresPerSocket=%d ThreadsPerCore=1 RealMemory=%d",
			name, s.Host, s.Ports[i], c.CPUs, c.CPUs, c.MemoryMB)
		if c.GPUs > 0 {
			var gres []string
			for _, k := range c.kinds(i) {
				gres = append(gres, strings.Join(nonEmpty("gpu", k.name, strconv.Itoa(k.gpus)), ":"))
			}
			b.WriteString(" Gres=" + strings.Join(gres, ","))
		}
		b.WriteString(" State=UNKNOWN\n")
	}
}

func (s site) writePartitions(b *strings.Builder) {
	for i, p := range s.Config.Partitions {
		nodes := p.Nodes
		if len(nodes) == 0 {
			nodes = s.Config.NodeNames()
		}
		fmt.Fprintf(b, "PartitionName=%s Nodes=%s Default=%s MaxTime=INFINITE State=UP", p.Name, strings.Join(nodes, ","), yesNo(i == 0))
		if p.Options != "" {
			b.WriteString(" " + p.Options)
		}
		b.WriteString("\n")
	}
}

// gresConf renders gres.conf. AutoDetect is off so that real GPUs of the machine are
// neither found nor touched. 20.11 detects none in any case and, if AutoDetect is set,
// counts the listed ones as too many.
func (s site) gresConf() string {
	var b strings.Builder
	if s.Release.atLeast(21, 8) {
		b.WriteString("AutoDetect=off\n")
	}
	if s.Config.GPUs == 0 {
		return b.String()
	}
	d := layout(s.Config.Dir)
	for i, name := range s.Config.NodeNames() {
		first := 0
		for _, k := range s.Config.kinds(i) {
			fmt.Fprintf(&b, "NodeName=%s Name=gpu", name)
			if k.name != "" {
				fmt.Fprintf(&b, " Type=%s", k.name)
			}
			files := d.gpu(name, first)
			if last := first + k.gpus - 1; last > first {
				files = filepath.Join(d.join("dev"), fmt.Sprintf("%s-[%d-%d]", name, first, last))
			}
			fmt.Fprintf(&b, " File=%s\n", files)
			first += k.gpus
		}
	}
	return b.String()
}

// cgroupConf renders cgroup.conf; "" = the release needs none. A lab uses no cgroups, but
// slurmd loads a plugin for them in any case. That for version 2, which it takes where the
// machine has that version, ends slurmd where there is no systemd, as in a container; that
// for version 1 touches nothing unless asked. Since 23.11 there can be none.
func (s site) cgroupConf() string {
	switch {
	case s.Release.atLeast(23, 11):
		return "CgroupPlugin=disabled\n"
	case s.Release.atLeast(22, 5):
		return "CgroupPlugin=cgroup/v1\n"
	}
	return ""
}

// keys returns the lower-case keys at the start of the lines of a configuration. NodeName
// and PartitionName lines are added to the lab's and replace none.
func keys(conf string) map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(conf) {
		if key, _, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			set[strings.ToLower(strings.TrimSpace(key))] = true
		}
	}
	return set
}

func seconds(d time.Duration) string { return fmt.Sprint(int(d / time.Second)) }

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

func nonEmpty(words ...string) []string {
	var list []string
	for _, w := range words {
		if w != "" {
			list = append(list, w)
		}
	}
	return list
}
