package deploycheck

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"
)

// play runs the services of compose.yaml on this machine. Each has an address of its own.
type play struct {
	t       *testing.T
	project *types.Project
	hosts   map[string]string
	configs map[string]v1.Config
	// dir holds the volumes, and the unpacked images.
	dir string
}

// newPlay prepares the services of compose.yaml, and hosts with further names.
func newPlay(t *testing.T, dir string, further ...string) *play {
	t.Helper()
	project, err := loadCompose(t.Context(), deploy)
	if err != nil {
		t.Fatal(err)
	}
	p := &play{t, project, map[string]string{}, map[string]v1.Config{}, dir}
	names := "127.0.0.1 localhost\n"
	for i, name := range append(project.ServiceNames(), further...) {
		p.hosts[name] = fmt.Sprintf("127.0.1.%d", i+1)
		names += p.hosts[name] + " " + name + "\n"
	}
	p.write("hosts", []byte(names), 0o644)
	p.mount(filepath.Join(dir, "hosts"), "/etc/hosts", 0)
	for name := range project.Volumes {
		p.mkdir(p.volume(name))
	}
	for _, program := range programs {
		config, files := openImage(t, program.name)
		p.configs[program.name] = config
		for name, f := range files {
			p.write(
				filepath.Join(program.name, name),
				f.content,
				fs.FileMode(f.header.Mode).Perm(),
			) //nolint:gosec // A mode has few bits.
		}
		// Docker and the kubelet make the places of mounts
		for _, name := range []string{"proc", "secrets", "etc/petstore/secrets"} {
			p.mkdir(filepath.Join(dir, program.name, name))
		}
		p.write(filepath.Join(program.name, "etc/hosts"), []byte(names), 0o644)
	}
	return p
}

func (p *play) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *play) mkdir(path string) {
	p.t.Helper()
	p.must(os.MkdirAll(path, 0o755)) //nolint:gosec // Several users read it.
}

func (p *play) write(name string, content []byte, mode fs.FileMode) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	p.mkdir(filepath.Dir(path))
	p.must(os.WriteFile(path, content, mode))
}

func (p *play) mount(source, target string, readOnly uintptr) {
	p.t.Helper()
	p.must(unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""))
	if readOnly != 0 {
		p.must(unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	}
}

func (p *play) volume(name string) string { return filepath.Join(p.dir, "volumes", name) }

// container returns the command of a service from one of our images, or its image's entry point
// with other arguments.
func (p *play) container(name string, args ...string) *exec.Cmd {
	p.t.Helper()
	s := p.project.Services[name]
	config := p.configs[imageName(s.Image)]
	volumes := map[string]string{}
	for _, v := range s.Volumes {
		volumes[v.Target] = p.volume(v.Source)
	}
	if len(args) == 0 {
		args = slices.Concat(config.Entrypoint, config.Cmd)
		if len(s.Command) > 0 {
			args = slices.Concat(config.Entrypoint, s.Command)
		}
	}
	cmd := p.contained(name, imageName(s.Image), volumes, args)
	for name, value := range s.Environment {
		cmd.Env = append(cmd.Env, name+"="+*value)
	}
	return cmd
}

// contained returns a command in one of our images, with directories of this machine by their
// places in it. It runs as the image's user, may write to no file, and has no variables.
func (p *play) contained(name, image string, volumes map[string]string, args []string) *exec.Cmd {
	p.t.Helper()
	in := filepath.Join(p.dir, "roots", name)
	if _, err := os.Stat(in); err != nil {
		p.mkdir(in)
		p.mount(filepath.Join(p.dir, image), in, 1)
		p.mount("/proc", filepath.Join(in, "proc"), 0)
		for target, source := range volumes {
			p.mount(source, filepath.Join(in, target), 1)
		}
	}
	cmd := exec.Command(args[0])
	cmd.Path, cmd.Args, cmd.Dir, cmd.Env = args[0], args, "/", []string{}
	id, group, _ := strings.Cut(p.configs[image].User, ":")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot:     in,
		Credential: &syscall.Credential{Uid: p.number(id), Gid: p.number(group)},
	}
	return cmd
}

func (p *play) number(text string) uint32 {
	p.t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	p.must(err)
	return uint32(n)
}

// foreign returns the command of a service from an image that is not ours: this machine has its
// program. Its mounts are a directory of links.
func (p *play) foreign(name string) *exec.Cmd {
	p.t.Helper()
	s := p.project.Services[name]
	view := filepath.Join(p.dir, "views", name)
	for _, v := range s.Volumes {
		source := v.Source
		if v.Type == types.VolumeTypeVolume {
			source = p.volume(source)
		}
		p.mkdir(filepath.Dir(filepath.Join(view, v.Target)))
		_ = os.Remove(filepath.Join(view, v.Target)) // of an earlier run
		p.must(os.Symlink(source, filepath.Join(view, v.Target)))
	}
	here := func(text string) string {
		return regexp.MustCompile(`(^|=)(/compose|/secrets)(/|$)`).ReplaceAllString(text, "${1}"+view+"${2}${3}")
	}
	cmd := exec.Command(s.Entrypoint[0])
	for _, a := range s.Entrypoint[1:] {
		cmd.Args = append(cmd.Args, here(a))
	}
	cmd.Env = os.Environ()
	for name, value := range s.Environment {
		cmd.Env = append(cmd.Env, name+"="+here(*value))
	}
	return cmd
}

// run runs a command that ends, and returns its output.
func (p *play) run(cmd *exec.Cmd) string {
	p.t.Helper()
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%q: %v\n%s", cmd.Args, err, complaints.String())
	}
	return string(out)
}

// start runs a command that goes on, until the test ends. Its output is shown if the test fails.
func (p *play) start(cmd *exec.Cmd) *exec.Cmd {
	p.t.Helper()
	log, err := os.Create(filepath.Join(p.dir, fmt.Sprintf("log-%d", time.Now().UnixNano())))
	p.must(err)
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.must(cmd.Start())
	p.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()         // killed
		}
		if p.t.Failed() {
			p.t.Logf("%q wrote:\n%s", cmd.Args, readFile(p.t, log.Name()))
		}
		_ = log.Close() // only read from here on
	})
	return cmd
}

// eventually tries for a minute.
func (p *play) eventually(what string, try func() error) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { // between two looks
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s: %v", what, err)
		}
	}
}

// startPostgres starts PostgreSQL as its image does, with the password of its volume. With a
// certificate in dir, it speaks TLS.
func (p *play) startPostgres() {
	p.t.Helper()
	bin := postgresBin(p.t)
	owner := &syscall.Credential{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())} //nolint:gosec // IDs fit.
	if u, err := user.Lookup("postgres"); err == nil {
		owner = &syscall.Credential{Uid: p.number(u.Uid), Gid: p.number(u.Gid)}
	}
	data := filepath.Join(p.dir, "pgdata")
	p.mkdir(data)
	p.write("pgdata.password", readFile(p.t, filepath.Join(p.volume("postgres-secrets"), "password")), 0o600)
	for _, path := range []string{data, data + ".password"} {
		p.must(os.Chown(path, int(owner.Uid), int(owner.Gid)))
	}
	as := func(cmd *exec.Cmd) *exec.Cmd {
		cmd.Dir, cmd.SysProcAttr = p.dir, &syscall.SysProcAttr{Credential: owner}
		return cmd
	}
	p.run(
		as(
			exec.Command(
				filepath.Join(bin, "initdb"),
				"-D",
				data,
				"-U",
				"postgres",
				"--pwfile",
				data+".password",
				"--auth",
				"scram-sha-256",
				"--locale=C",
				"-E",
				"UTF8",
				"--no-sync",
			),
		),
	)
	args := []string{"-D", data, "-h", p.hosts["postgres"], "-c", "unix_socket_directories=", "-c", "fsync=off"}
	if key := filepath.Join(p.dir, "postgres.key"); os.Chown(key, int(owner.Uid), int(owner.Gid)) == nil {
		args = append(
			args,
			"-c",
			"ssl=on",
			"-c",
			"ssl_key_file="+key,
			"-c",
			"ssl_cert_file="+filepath.Join(p.dir, "postgres.crt"),
		)
	}
	p.start(as(exec.Command(filepath.Join(bin, "postgres"), args...)))
	p.eventually("PostgreSQL", func() error {
		return exec.Command(filepath.Join(bin, "pg_isready"), "-h", p.hosts["postgres"]).Run()
	})
}

// postgresBin returns the directory of PostgreSQL's programs.
func postgresBin(t *testing.T) string {
	t.Helper()
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, dir := range slices.Backward(dirs) {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir
		}
	}
	t.Fatal("PostgreSQL is missing: install it with apt-get install postgresql")
	return ""
}
