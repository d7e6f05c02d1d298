package servers

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"petstore.example/internal/catalog"
)

// Fixed is a fixed response.
type Fixed struct {
	Path   string // as "/v1/pets"
	Status int
	Body   []byte // nil for a response without a body
}

// BareOptions configure a bare server.
type BareOptions struct {
	Responses []Fixed
	// Animals is the response at JSONPath, written by c.JSON for each request.
	Animals []catalog.Pet
	// Found is the response after a look-up of the request's key in Database.
	Found Fixed
	// POST CreatePath and OrderPath, and PATCH ChangePath, write to Database, for Tenant.
	Database string
	Tenant   int64
}

// Paths of a bare server.
const (
	JSONPath   = "/v1/json"
	CreatePath = "/v1/pets"
	ChangePath = "/v1/pets/:id"
	OrderPath  = "/v1/store/orders"
	FoundPath  = "/v1/found"
)

// bareHandler is a lower bound for any server with Gin: it writes fixed bytes, JSON, or the result of one statement.
func bareHandler(config []byte) (http.Handler, error) {
	var o BareOptions
	if err := json.Unmarshal(config, &o); err != nil {
		return nil, err
	}
	w, err := newWriter(o)
	if err != nil {
		return nil, err
	}
	engine := newEngine()
	for _, f := range o.Responses {
		engine.GET(f.Path, f.write)
	}
	engine.GET(JSONPath, func(c *gin.Context) { c.JSON(http.StatusOK, o.Animals) })
	engine.POST(CreatePath, w.create)
	engine.PATCH(ChangePath, w.change)
	engine.POST(OrderPath, w.order)
	engine.GET(o.Found.Path, func(c *gin.Context) { w.find(c, o.Found) })
	return engine, nil
}

func (f Fixed) write(c *gin.Context) {
	if len(f.Body) == 0 {
		c.Status(f.Status)
		return
	}
	c.Data(f.Status, "application/json", f.Body)
}

func newEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	return gin.New()
}
