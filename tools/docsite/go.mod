module petstore.example/tools/docsite

go 1.26.0

require (
	github.com/goccy/go-yaml v1.19.2
	github.com/yuin/goldmark v1.8.7
)
