/** Version of the service, equal to package.json; npm run release sets both. */
export const version = "0.2.0";
