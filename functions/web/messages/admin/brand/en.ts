export const en = {
  title: "Brand",
  text: "Color and logo of the pages, their mails and embedded boards.",
  now: "How it looks now",
  logoOf: (name: string) => `Logo of ${name}`,
  noLogo: "No logo",
  noColor: "The default color",
  sample: "A button",
  color: "Color",
  colorHint:
    "Such as #5b5bd6; empty for the default. Where text would be hard to read, a shade nearby is used.",
  logo: "Address of the logo",
  logoHint:
    "A picture at an https address, square if possible; empty for none. Visitors' browsers load it from there.",
  file: "Logo",
  fileHint:
    "A PNG, JPEG or WebP picture of at most 512 KiB, square if possible. It replaces the current one.",
  upload: "Upload",
  fileMissing: "Choose a picture.",
  fileType: "This is not a PNG, JPEG or WebP picture.",
  tooLarge: "The picture is larger than 512 KiB, or wider or higher than 2,048 pixels: make it smaller.",
  remove: "Remove the logo",
  removeHint: "The uploaded picture is deleted. Mails that were already sent no longer show it.",
  save: "Save",
  done: {
    saved: "The brand is saved.",
    uploaded: "The logo is uploaded.",
  },
};

export type BrandMessages = typeof en;
