package servers

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"petstore.example/internal/catalog"
)

// Fixed is an answer that a bare server gives from memory.
type Fixed struct {
	Path   string // as "/v1/pets"
	Status int
	Body   []byte // none for an answer without one
}

// BareOptions say what a bare server is to answer.
type BareOptions struct {
	Answers []Fixed
	// Animals are answered at JSONPath, written by c.JSON for each request.
	Animals []catalog.Pet
	// Database is where POST CreatePath inserts; the tenant is whose the animals are.
	Database string
	Tenant   int64
}

// Paths of a bare server that no option names.
const (
	JSONPath   = "/v1/json"
	CreatePath = "/v1/pets"
)

// StartBare starts bare Gin servers' routes in a process of its own: gin.New() in release mode without middleware.
func StartBare(ctx context.Context, dir string, o BareOptions) (*Self, error) {
	return startSelf(ctx, dir, "bare", o)
}

// StartBareOnHTTPFast starts the same on the connections of internal/httpfast, as petstore is served.
func StartBareOnHTTPFast(ctx context.Context, dir string, o BareOptions) (*Self, error) {
	return startSelf(ctx, dir, fast, o)
}

// bareHandler is what nobody can be faster than with Gin: fixed bytes, and what writing JSON and one INSERT cost by themselves.
func bareHandler(config []byte) (http.Handler, error) {
	var o BareOptions
	if err := json.Unmarshal(config, &o); err != nil {
		return nil, err
	}
	insert, err := prepareInsert(o)
	if err != nil {
		return nil, err
	}
	engine := newEngine()
	for _, a := range o.Answers {
		engine.GET(a.Path, a.answer)
	}
	engine.GET(JSONPath, func(c *gin.Context) { c.JSON(http.StatusOK, o.Animals) })
	engine.POST(CreatePath, func(c *gin.Context) { create(c, insert, o.Tenant) })
	return engine, nil
}

func (a Fixed) answer(c *gin.Context) {
	if len(a.Body) == 0 {
		c.Status(a.Status)
		return
	}
	c.Data(a.Status, "application/json", a.Body)
}

func newEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	return gin.New()
}
