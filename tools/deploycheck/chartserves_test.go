package deploycheck

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common/util"
	corev1 "k8s.io/api/core/v1"
)

// TestChartServes starts the chart's pods with the secrets and values that docs/containers.md has
// for a private authority: the job, then a server, each from its image with its files and
// variables, on PostgreSQL, Redis and a collector whose certificates the authority signed.
func TestChartServes(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(apartDir)
	if dir == "" {
		apart(t)
		return
	}
	upLoopback(t)
	p := newPlay(t, dir, "collector")
	p.run(p.foreign("secrets"))
	p.newAuthority("postgres", "redis", "collector")
	p.startPostgres()
	p.run(p.foreign("roles"))
	p.start(
		exec.Command(
			"redis-server",
			"--bind",
			p.hosts["redis"],
			"--save",
			"",
			"--dir",
			dir,
			"--port",
			"0",
			"--tls-port",
			"6379",
			"--tls-auth-clients",
			"no",
			"--tls-ca-cert-file",
			filepath.Join(dir, "ca.crt"),
			"--tls-cert-file",
			filepath.Join(dir, "redis.crt"),
			"--tls-key-file",
			filepath.Join(dir, "redis.key"),
		),
	)
	exported := p.startCollector("api-key=hunter2")

	url := func(volume string) []byte {
		return []byte(
			strings.Replace(
				string(readFile(t, filepath.Join(p.volume(volume), "database_url"))),
				"=disable",
				"=verify-full",
				1,
			),
		)
	}
	ca := readFile(t, filepath.Join(dir, "ca.crt"))
	job, server := p.pods(map[string][]byte{
		"owner_url": url("owner-secrets"), "server_url": url("server-secrets"), "db-ca.crt": ca,
		"redis_url": []byte("rediss://redis:6379/0\n"), "redis-ca.crt": ca, "otlp_headers": []byte("api-key=hunter2\n"),
	})
	without := p.pod(job)
	without.Env = slices.DeleteFunc(without.Env, func(v string) bool { return strings.HasPrefix(v, "PGSSLROOTCERT=") })
	if out, err := without.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "certificate signed by unknown authority") {
		t.Errorf("without its authority's certificate Postgres is trusted: %v\n%s", err, out)
	}
	p.run(p.pod(job))
	serving := p.pod(server)
	serving.Env = append(serving.Env, "OTEL_BSP_SCHEDULE_DELAY=100") // milliseconds, in place of 5 s
	p.start(serving)
	ready := server.template.Spec.Containers[0].ReadinessProbe.HTTPGet
	p.eventually("the server", func() error {
		response, err := http.Get("http://127.0.0.1:8081" + ready.Path) //nolint:noctx // It ends with the server.
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK ||
			!strings.Contains(string(body), `"redis":"up"`) {
			return fmt.Errorf("%s: %s", response.Status, body)
		}
		return nil
	})
	p.eventually("a trace", func() error {
		if response, err := http.Get(
			"http://127.0.0.1:8080/v1/pets",
		); err == nil { //nolint:noctx // It ends with the server.
			_ = response.Body.Close() // a 401
		}
		if !exported.Load() {
			return errors.New("the collector got none with the headers")
		}
		return nil
	})
}

// newAuthority makes ca.crt, and a certificate and a key for each host, in dir.
func (p *play) newAuthority(hosts ...string) {
	p.t.Helper()
	issue := func(name string, further ...string) {
		p.run(
			exec.Command(
				"openssl",
				append([]string{
					"req",
					"-x509",
					"-newkey",
					"ec",
					"-pkeyopt",
					"ec_paramgen_curve:P-256",
					"-nodes",
					"-subj",
					"/CN=" + name,
					"-keyout",
					filepath.Join(p.dir, name+".key"),
					"-out",
					filepath.Join(p.dir, name+".crt"),
				}, further...)...),
		)
	}
	issue("ca")
	for _, host := range hosts {
		issue(
			host,
			"-CA",
			filepath.Join(p.dir, "ca.crt"),
			"-CAkey",
			filepath.Join(p.dir, "ca.key"),
			"-addext",
			"subjectAltName=DNS:"+host,
			"-addext",
			"basicConstraints=critical,CA:FALSE",
		)
	}
}

// startCollector starts what takes traces, and says whether it got one with the header, NAME=VALUE.
func (p *play) startCollector(header string) *atomic.Bool {
	p.t.Helper()
	var got atomic.Bool
	certificate, err := tls.LoadX509KeyPair(
		filepath.Join(p.dir, "collector.crt"),
		filepath.Join(p.dir, "collector.key"),
	)
	p.must(err)
	listener, err := net.Listen("tcp", p.hosts["collector"]+":4318") //nolint:noctx // At once.
	p.must(err)
	name, value, _ := strings.Cut(header, "=")
	server := &http.Server{ //nolint:gosec // Its client is ours.
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.Header.Get(name) == value {
				got.Store(true)
			}
		}),
	}
	go func() { _ = server.ServeTLS(listener, "", "") }() // until it is closed
	p.t.Cleanup(func() { _ = server.Close() })
	return &got
}

// pods lays out the files of the chart's pods, from files by the names that the page's commands
// have.
func (p *play) pods(files map[string][]byte) (job, server pod) {
	p.t.Helper()
	page := string(readFile(p.t, filepath.Join(docs, "containers.md")))
	values := map[string]any{}
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1) {
		// as helm install --values my.yaml --values private.yaml
		values = util.CoalesceTables(parseValues(p.t, m[1]), values)
	}
	secrets := map[string]map[string][]byte{}
	for _, m := range regexp.MustCompile(`kubectl create secret generic (\S+) --from-file=(\S+)=(\S+)`).FindAllStringSubmatch(page, -1) {
		secrets[m[1]] = map[string][]byte{m[2]: files[m[3]]}
	}
	documents, err := render(chartDir(deploy), values)
	p.must(err)
	var f findings
	var all objects
	for _, d := range documents {
		all = append(all, f.decode([]byte(d)))
	}
	fine(p.t, f)
	for _, of := range all.pods() {
		for _, v := range of.template.Spec.Volumes {
			p.layOut(filepath.Join(of.template.Spec.Containers[0].Name, v.Name), v.Projected, secrets)
		}
		if of.server {
			server = of
		} else {
			job = of
		}
	}
	return job, server
}

// layOut makes a volume as the kubelet does: names in it are links into a directory that the
// kubelet replaces as a whole.
func (p *play) layOut(volume string, v *corev1.ProjectedVolumeSource, secrets map[string]map[string][]byte) {
	p.t.Helper()
	p.mkdir(p.volume(filepath.Join(volume, "..1")))
	p.must(os.Symlink("..1", p.volume(filepath.Join(volume, "..data"))))
	for _, s := range v.Sources {
		for _, i := range s.Secret.Items {
			content, ok := secrets[s.Secret.Name][i.Key]
			if !ok {
				p.t.Fatalf("the page makes no secret %s with the key %s", s.Secret.Name, i.Key)
			}
			name := filepath.Join("volumes", volume, "..1", i.Path)
			p.write(name, content, 0o440)
			p.must(os.Chown(filepath.Join(p.dir, name), 0, 65532))
			first, _, _ := strings.Cut(i.Path, "/")
			p.must(os.Symlink("..data/"+first, p.volume(filepath.Join(volume, first))))
		}
	}
}

// pod returns the command of a pod's container.
func (p *play) pod(of pod) *exec.Cmd {
	p.t.Helper()
	c := of.template.Spec.Containers[0]
	image := path.Base(imageName(c.Image))
	volumes := map[string]string{}
	for _, m := range c.VolumeMounts {
		volumes[m.MountPath] = p.volume(filepath.Join(c.Name, m.Name))
	}
	cmd := p.contained("pod-"+c.Name, image, volumes, slices.Concat(p.configs[image].Entrypoint, c.Args))
	for _, e := range c.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	return cmd
}
