package generators_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(programs.Suite{M: storetest.Suite{M: m}}) }

// tools is where the clients are made.
const tools = "../../../tools/generators"

// clients are the programs by their generators.
var clients = map[string][]string{
	"openapi-typescript": {"node", "typescript/generated/programs/openapi-typescript.js"},
	"orval":              {"node", "typescript/generated/programs/orval.js"},
	"hey-api":            {"node", "typescript/generated/programs/hey-api.js"},
	"oapi-codegen":       {tools + "/generated/oapi-codegen"},
	"ogen":               {tools + "/generated/ogen"},
}

// flow is what every program says.
const flow = `add: 201 Rex 7 available
add with a status: 201 Mia -8 pending
add once: 201 Tom false
add once again: 201 true true
list: 200 Rex,Mia
last page: 200 Tom false
list unchanged: 304 
list pending: 200 Mia
list by ID: 200 Mia
list by name: 200 Rex
get: 200 Rex @1764892800
change: 200 Mia 10 pending
order: 201 true 1 placed
approve: 200 approved
get order: 200 approved
orders: 200 1 true
usage: 200 enterprise 1000000 true
wrong key: 401 invalid_api_key
unknown animal: 404 pet_not_found
animal taken: 409 pet_not_available
changed meanwhile: 412 precondition_failed
key reused: 422 idempotency_key_reused
limited: 429 rate_limit_exceeded true
`

func TestFlow(t *testing.T) {
	t.Parallel()
	makeClients(t)
	database := storetest.New(t)
	server := programs.Serve(t, programs.Path(t, "petstore"), "PETSTORE_DATABASE_URL="+database.APIURL)
	proxy := startNginx(t, server.Addr)
	staff := storetest.Open(t, storetest.As(t, database.URL, storetest.SupportLogin), store.Options{})
	issue := func(tenant string, perMinute int64) string {
		own := &plans.Quota{PerMinute: perMinute, PerDay: 1_000_000}
		return storetest.IssueKey(t, staff, tenancy.NewTenant{Name: tenant, Plan: plans.Enterprise, Own: own})
	}
	for client, command := range clients {
		for way, addr := range map[string]string{"directly": server.Addr, "behind nginx": proxy.addr} {
			t.Run(client+" "+way, func(t *testing.T) {
				tenant := strings.ReplaceAll(client+" "+way, " ", "-")
				env := []string{
					"PETSTORE_URL=http://" + addr + "/v1",
					"PETSTORE_API_KEY=" + issue(tenant, 1_000_000),
					"PETSTORE_SLOW_KEY=" + issue(tenant+"-slow", 1),
				}
				assert.DeepEqual(t, run(t, command, env), flow)
			})
		}
	}
	proxy.checkCompressed(len(clients))
}

// makeClients generates and compiles the programs, unless that was done since the document changed.
func makeClients(t *testing.T) {
	t.Helper()
	// go test keeps a result while the files that a test has read are the same.
	programs.Read(t, "../../api/openapi.yaml")
	cmd := sandbox.Command(t, "make", "-s")
	cmd.Dir = tools
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make -C tools/generators: %v\n%s", err, out)
	}
}

// run runs a program and returns what it says.
func run(t *testing.T, command, env []string) string {
	t.Helper()
	cmd := sandbox.Command(t, command[0], command[1:]...)
	cmd.Dir, cmd.Env = tools, append(cmd.Env, env...)
	var messages strings.Builder
	cmd.Stderr = &messages
	said, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %s", err, messages.String())
	}
	return string(said)
}
