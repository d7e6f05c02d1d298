package e2e_test

import (
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/mutants"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
)

// TestMutatedURLs gives both programs database URLs in which something else than the password is
// wrong, by a flag, a variable and a file.
func TestMutatedURLs(t *testing.T) {
	t.Parallel()
	const mutations = 50
	named, standard := mutants.Listen(t), mutants.Listen(t)
	host, port, err := net.SplitHostPort(standard.Addr)
	assert.NoError(t, err)
	random, file, sent := rand.New(rand.NewPCG(56, 50)), filepath.Join(t.TempDir(), "url"), 0
	for n := range mutations {
		m := mutants.Of(random, named.Addr)
		assert.NoError(t, os.WriteFile(file, []byte(m.Text), 0o600))
		variable := "PETSTORE_DATABASE_URL=" + m.Text
		if n%2 == 0 || strings.Contains(m.Text, "\x00") { // No variable can have it.
			variable = "PETSTORE_DATABASE_URL_FILE=" + file
		}
		for program, args := range map[string][]string{
			"petstore":    {"serve", "--check"},
			"petstorectl": {"tenant", "list", "-o", []string{"table", "json"}[n%2]},
		} {
			if n%4 == 1 && program == "petstorectl" && !strings.Contains(m.Text, "\x00") {
				args = append(args, "--database-url", m.Text)
			}
			cmd := sandbox.Command(t, programs.Path(t, program), args...)
			cmd.Env = append(cmd.Env, "PGHOST="+host, "PGPORT="+port, "PETSTORE_ADDR=127.0.0.1:0",
				"PETSTORE_ADMIN_ADDR=127.0.0.1:0", "PETSTORE_LOG_LEVEL=trace", variable)
			output, err := cmd.CombinedOutput()
			asPassword, others, _ := named.Recorded()
			atStandard, else2, _ := standard.Recorded()
			assert.True(t, err != nil && len(output) > 0, program, "succeeds with", m.Text)
			for where, text := range map[string]string{
				"the output": string(output), "the wire": others, "another host": atStandard + else2,
			} {
				if m.In(text) > 0 {
					t.Errorf("%d: %s with %q: the password is in %s: %q", n, program, m.Text, where, text)
				}
			}
			if m.In(asPassword) > 0 {
				sent++
			}
		}
	}
	t.Logf("%d mutations with both programs: %d times the password went to the host that is named, and nowhere else",
		mutations, sent)
}
