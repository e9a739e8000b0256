import type { z } from "zod";

export type Schema = z.core.JSONSchema.BaseSchema;
export type Reference = { $ref: string };
export type Parameter = {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description?: string;
  schema: Schema;
};
type Example = { summary: string; value: unknown };
type Shape = { schema: Schema; examples?: Record<string, Example> };
export type Content = { "application/json": Shape; [mediaType: string]: Shape };
export type RequestBody = { description?: string; required: boolean; content: Content };
export type Header = { description: string; schema: Schema };
export type Response = { description: string; headers: Record<string, Reference | Header>; content: Content };
export type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Record<string, string[]>[];
  parameters: (Parameter | Reference)[];
  requestBody?: RequestBody;
  responses: Record<string, Response | Reference>;
};

export type OpenApi = {
  openapi: "3.1.0";
  info: { title: string; version: string; description: string };
  servers: { url: string; description: string }[];
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    securitySchemes: Record<string, Record<string, string>>;
    parameters: Record<string, Parameter>;
    headers: Record<string, Header>;
    responses: Record<string, Response>;
    schemas: Record<string, Schema>;
  };
};

/** Resolves a reference to its component; returns other schemas as they are. */
export function resolve(schema: Schema, schemas: Record<string, Schema>): Schema {
  return (schema.$ref && schemas[schema.$ref.split("/").at(-1) ?? ""]) || schema;
}
