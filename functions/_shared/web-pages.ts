import { environment } from "./environment.ts";

// Where people see it in the web app.
export const submissionPage = (id: string) => `${environment.siteUrl}/submissions/${id}`;
export const surveyPage = (id: string) => `${environment.siteUrl}/surveys/${id}`;
