#!/usr/bin/python3
"""Writes the test images beside this script: text.png (three lines of printed text, for the OCR example), pixels.png
(2 x 2, known colours, with transparency) and grey.jpg (16 x 8, one channel). Needs python3-pil, fonts-dejavu-core."""
import pathlib

from PIL import Image, ImageDraw, ImageFont

LINES = ["Backplane runs tensor graphs", "on whatever is plugged in", "2026"]
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf"
FOLDER = pathlib.Path(__file__).parent


def text_image():
    image = Image.new("RGB", (640, 240), (250, 249, 245))
    draw = ImageDraw.Draw(image)
    font = ImageFont.truetype(FONT, 36)
    for row, line in enumerate(LINES):
        draw.text((36, 30 + 64 * row), line, font=font, fill=(32, 32, 40))
    return image


def pixels_image():
    image = Image.new("RGBA", (2, 2))
    image.putdata([(255, 0, 0, 255), (0, 255, 0, 255), (0, 0, 255, 128), (10, 20, 30, 255)])
    return image


text_image().save(FOLDER / "text.png", optimize=True)
pixels_image().save(FOLDER / "pixels.png", optimize=True)
Image.new("L", (16, 8), 100).save(FOLDER / "grey.jpg", quality=90)
