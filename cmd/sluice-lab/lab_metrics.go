package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// Files of the lab's Prometheus, all below its folder in the lab's directory.
const (
	prometheusFolder = "prometheus"
	prometheusPID    = "pid"
	prometheusLog    = "log"
	prometheusConf   = "prometheus.yml"
	prometheusAlerts = "alerts.yml"
)

// watchLab says where the metrics are, and starts a Prometheus that reads them if one is installed.
func watchLab(ctx context.Context, w io.Writer, l *lab.Lab, metrics string) error {
	fmt.Fprintf(w, "metrics: http://%s/metrics\n", metrics)
	program, err := exec.LookPath("prometheus")
	if err != nil {
		fmt.Fprintln(w, "no prometheus on PATH (Debian: apt-get install prometheus), so none was started")
		return nil
	}
	at, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	pid, err := startPrometheus(program, filepath.Join(l.Dir(), prometheusFolder), at, metrics)
	if err != nil {
		return fmt.Errorf("prometheus: %w", err)
	}
	if err := readySoon(ctx, "http://"+at+"/-/ready"); err != nil {
		return fmt.Errorf("prometheus (pid %d): %w; see %s", pid, err, filepath.Join(l.Dir(), prometheusFolder, prometheusLog))
	}
	fmt.Fprintf(w, "Prometheus reads them, pid %d; its page: http://%s/graph, its alerts: http://%s/alerts\n", pid, at, at)
	return nil
}

// startPrometheus starts it in a folder of its own.
func startPrometheus(program, dir, at, metrics string) (pid int, err error) {
	conf := fmt.Sprintf("global:\n  scrape_interval: 5s\n  evaluation_interval: 5s\nrule_files: [%s]\nscrape_configs:\n- job_name: sluiced\n  static_configs:\n  - targets: [%q]\n", prometheusAlerts, metrics)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	for name, text := range map[string][]byte{prometheusConf: []byte(conf), prometheusAlerts: etc.Alerts} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return 0, err
		}
	}
	log, err := os.Create(filepath.Join(dir, prometheusLog))
	if err != nil {
		return 0, err
	}
	defer log.Close()
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, prometheusConf), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, log, log, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid = cmd.Process.Pid
	go func() { _ = cmd.Wait() }()
	return pid, os.WriteFile(filepath.Join(dir, prometheusPID), []byte(strconv.Itoa(pid)), 0o600)
}

// readySoon waits until a page answers with success.
func readySoon(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", url, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// endPrometheus stops the Prometheus of the lab, if its process is still the one that was started.
func endPrometheus(ctx context.Context, l *lab.Lab) {
	dir := filepath.Join(l.Dir(), prometheusFolder)
	text, err := os.ReadFile(filepath.Join(dir, prometheusPID))
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 2 || !isOurs(pid, dir) {
		return
	}
	_ = syscall.Kill(pid, syscall.SIGTERM)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if !isOurs(pid, dir) {
			return
		}
	}
	if isOurs(pid, dir) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// isOurs reports whether the process runs with the configuration in that folder.
func isOurs(pid int, dir string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(line, []byte("--config.file="+filepath.Join(dir, prometheusConf)+"\x00"))
}

// freeAddress is a loopback address that nothing listens on.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
