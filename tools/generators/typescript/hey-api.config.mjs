export default {
  input: process.env.INPUT,
  output: { path: "generated/hey-api", importFileExtension: ".js" },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
};
