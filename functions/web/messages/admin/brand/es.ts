import type { BrandMessages } from "./en.ts";

export const es: BrandMessages = {
  title: "Marca",
  text: "Color y logotipo de las páginas, sus correos y los tableros incrustados.",
  now: "Aspecto actual",
  logoOf: (name: string) => `Logotipo de ${name}`,
  noLogo: "Sin logotipo",
  noColor: "El color predeterminado",
  sample: "Un botón",
  color: "Color",
  colorHint:
    "Como #5b5bd6; vacío para el predeterminado. Donde el texto se leería mal, se usa un tono cercano.",
  logo: "Dirección del logotipo",
  logoHint:
    "Una imagen en una dirección https, cuadrada si es posible; vacío para ninguna. Los navegadores la cargan desde allí.",
  file: "Logotipo",
  fileHint:
    "Una imagen PNG, JPEG o WebP de 512 KiB como máximo, cuadrada si es posible. Sustituye a la anterior.",
  upload: "Subir",
  fileMissing: "Elige una imagen.",
  fileType: "No es una imagen PNG, JPEG ni WebP.",
  tooLarge: "La imagen supera los 512 KiB o los 2048 píxeles de ancho o de alto: redúcela.",
  remove: "Quitar el logotipo",
  removeHint: "La imagen subida se elimina. Los correos ya enviados dejarán de mostrarla.",
  save: "Guardar",
  done: {
    saved: "La marca se ha guardado.",
    uploaded: "El logotipo se ha subido.",
  },
};
