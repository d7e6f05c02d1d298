module petstore.example/tools/generators/openapi-generator

go 1.26.0
