import { environment } from "../runtime/environment.ts";

// URL of its page in the web app.
export const submissionPage = (id: string) => `${environment.siteUrl}/submissions/${id}`;
export const surveyPage = (id: string) => `${environment.siteUrl}/surveys/${id}`;
