import { environment } from "../runtime/environment.ts";

// URL of its page in the web app.
export const submissionPage = (id: string) => `${environment.siteUrl}/submissions/${id}`;
/** Address of a comment on its submission's page, which then shows the comment wherever it is among the others. */
export const commentAddress = (submission: string, id: string) => `${submission}?comment=${id}#comment-${id}`;
export const surveyPage = (id: string) => `${environment.siteUrl}/surveys/${id}`;
