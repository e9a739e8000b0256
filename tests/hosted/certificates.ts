import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** A certificate authority and a server certificate signed by it, in PEM. */
export interface Certificates {
  authority: string;
  certificate: string;
  key: string;
}

/** Node generates keys but no certificates, so they are encoded here: X.509 v3, P-256, valid for a day. */
export function makeCertificates(address: string): Certificates {
  const authority = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const server = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = "Authority of a test";
  return {
    authority: certificateOf(issuer, authority.publicKey, issuer, authority.privateKey, [
      extension("551d13", der(0x30, der(0x01, Buffer.of(0xff)))), // basicConstraints: CA
    ]),
    certificate: certificateOf("Server of a test", server.publicKey, issuer, authority.privateKey, [
      extension("551d11", der(0x30, der(0x87, Buffer.from(address.split(".").map(Number))))), // subjectAltName: IP
    ]),
    key: server.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function certificateOf(
  subject: string,
  subjectKey: KeyObject,
  issuer: string,
  issuerKey: KeyObject,
  extensions: Buffer[],
): string {
  const day = 86_400_000;
  const content = der(
    0x30,
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ecdsaWithSha256,
    nameOf(issuer),
    der(0x30, timeOf(Date.now() - day), timeOf(Date.now() + day)),
    nameOf(subject),
    subjectKey.export({ type: "spki", format: "der" }),
    der(0xa3, der(0x30, ...extensions)),
  );
  const signature = der(0x03, Buffer.of(0), sign("sha256", content, issuerKey));
  const lines = der(0x30, content, ecdsaWithSha256, signature).toString("base64").replace(/.{64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

/** Tag, length and content. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length: size } = content;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.of(tag, ...length), content]);
}

const object = (id: string) => der(0x06, Buffer.from(id, "hex"));
const ecdsaWithSha256 = der(0x30, object("2a8648ce3d040302"));
const nameOf = (name: string) => der(0x30, der(0x31, der(0x30, object("550403"), der(0x0c, Buffer.from(name)))));
const extension = (id: string, value: Buffer) => der(0x30, object(id), der(0x01, Buffer.of(0xff)), der(0x04, value));
/** UTCTime: YYMMDDhhmmssZ. */
const timeOf = (time: number) =>
  der(0x17, Buffer.from(`${new Date(time).toISOString().replace(/[-:T]/g, "").slice(2, 14)}Z`));
