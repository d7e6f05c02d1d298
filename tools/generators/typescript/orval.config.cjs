module.exports = {
  petstore: {
    input: process.env.INPUT,
    output: {
      target: "generated/orval.ts",
      client: "fetch",
      headers: true,
      override: { mutator: { path: "request.ts", name: "request", extension: ".js" } },
    },
  },
};
