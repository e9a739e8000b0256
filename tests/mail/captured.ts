import { dirname, join } from "node:path";
import { capturedMails } from "../../local/functions/mail-capture.ts";
import { stack } from "../stack.ts";
import { until } from "../until.ts";

/** The mails of the shared stack to somebody, oldest first. */
export const mailsTo = async (address: string) =>
  (await capturedMails(join(dirname(stack.mailPath), "mail"), 500)).filter(({ to }) => to.includes(address)).reverse();

export const mailTo = (address: string, nth = 0) => until(async () => (await mailsTo(address))[nth]);

/** The path of a link to a page of ours. */
export const linkIn = (text = "", path: string) =>
  new RegExp(`${stack.site_url}(/${path}\\?\\S+)`).exec(text)?.[1] ?? "no link";
