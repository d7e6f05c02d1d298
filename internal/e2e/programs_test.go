package e2e_test

import (
	"strings"
	"testing"

	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
)

// TestVersion: both programs say their version by a command and by a flag, also with a variable
// that is misspelt.
func TestVersion(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"petstore", "petstorectl"} {
		for _, arg := range []string{"version", "--version"} {
			p := programs.Start(t, sandbox.Command(t, program(t, name), arg), "PETSTORE_DATABSE_URL=x")
			want := name + " " + programs.Version + " ("
			if programs.UnderRace() {
				want = name + " "
			}
			if code := p.Wait(); code != 0 || !strings.HasPrefix(p.Stdout(), want) ||
				strings.Count(p.Stdout(), "\n") != 1 {
				t.Errorf("%s %s: exit %d, %q%q, want %q…", name, arg, code, p.Stdout(), p.Stderr(), want)
			}
		}
	}
}

// TestHealthcheck: the command asks the server at PETSTORE_ADMIN_ADDR, and needs no other variable.
func TestHealthcheck(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	s := d.serve("PETSTORE_DRAIN_DELAY=30s")
	addr := s.Admin
	check := func(code int, stdout, stderr string, env string, args ...string) {
		t.Helper()
		p := programs.Start(
			t,
			sandbox.Command(t, program(t, "petstore"), append([]string{"healthcheck"}, args...)...),
			env,
		)
		if got := p.Wait(); got != code || !strings.HasPrefix(p.Stdout(), stdout) ||
			!strings.HasPrefix(p.Stderr(), stderr) ||
			strings.Count(p.Stdout()+p.Stderr(), "\n") != 1 {
			t.Errorf(
				"healthcheck %v with %s: exit %d, %q, %q; want %d, %q, %q",
				args,
				env,
				got,
				p.Stdout(),
				p.Stderr(),
				code,
				stdout,
				stderr,
			)
		}
	}
	check(0, "ready", "", "PETSTORE_ADMIN_ADDR="+addr)
	check(0, "ready", "", "PETSTORE_ADMIN_ADDR="+addr[strings.LastIndex(addr, ":"):])
	check(0, "live\n", "", "PETSTORE_ADMIN_ADDR="+addr, "--live")
	check(1, "", "petstore: the server at 127.0.0.1:1 does not answer: ", "PETSTORE_ADMIN_ADDR=127.0.0.1:1")
	check(1, "", "petstore: 127.0.0.1", "PETSTORE_ADMIN_ADDR="+s.Addr) // the API
	check(1, "", `petstore: PETSTORE_ADMIN_ADDR is "8081": want HOST:PORT`, "PETSTORE_ADMIN_ADDR=8081")
	check(
		1,
		"",
		"petstore: PETSTORE_ADMIN_ADR is no variable of petstore: did you mean PETSTORE_ADMIN_ADDR?\n",
		"PETSTORE_ADMIN_ADR="+addr,
	)
	d.beginStop(s)
	check(1, "", "petstore: the server at "+addr+" is stopping", "PETSTORE_ADMIN_ADDR="+addr)
	check(0, "live\n", "", "PETSTORE_ADMIN_ADDR="+addr, "--live")
	s.Kill()
}
